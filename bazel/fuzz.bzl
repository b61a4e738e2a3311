"""A libFuzzer program, compiled by clang whatever compiler the rest of the build uses.

Every source behind `deps` is compiled anew with the sanitizers, since a fuzzer must see the coverage of the code that it
fuzzes. Libraries of the system are linked statically where they can be, and others are also looked for beside the program, so
that it runs on other machines.
"""

_SourcesInfo = provider(fields = ["sources"])

def _is_source(file):
    return file.extension in ["cc", "c"]

def _sources_aspect_impl(target, ctx):
    own = []
    if CcInfo in target and hasattr(ctx.rule.files, "srcs"):
        own = [file for file in ctx.rule.files.srcs if _is_source(file)]
    deps = getattr(ctx.rule.attr, "deps", [])
    return [_SourcesInfo(sources = depset(own, transitive = [
        dep[_SourcesInfo].sources
        for dep in deps
        if _SourcesInfo in dep
    ]))]

_sources_aspect = aspect(implementation = _sources_aspect_impl, attr_aspects = ["deps"])

_SANITIZERS = ["-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-g1", "-O1"]

# Those that Debian also has as archives.
_ARCHIVES = ["-lcrypto", "-lsqlite3", "-lzstd"]

def _static(flag):
    return ["-Wl,-Bstatic", flag, "-Wl,-Bdynamic"] if flag in _ARCHIVES else [flag]

def _fuzz_binary_impl(ctx):
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    compilation = context.compilation_context
    sources = depset(ctx.files.srcs, transitive = [dep[_SourcesInfo].sources for dep in ctx.attr.deps]).to_list()
    headers = [file for file in ctx.files.srcs if not _is_source(file)]

    flags = ["-std=c++20", "-fsanitize=fuzzer-no-link,address,undefined"] + _SANITIZERS
    flags += ["-D" + define for define in compilation.defines.to_list()]
    for path in compilation.quote_includes.to_list():
        flags += ["-iquote", path]
    for path in compilation.includes.to_list():
        flags += ["-I", path]
    for path in compilation.system_includes.to_list():
        flags += ["-isystem", path]

    objects = []
    for source in sources:
        if not _is_source(source):
            continue
        output = ctx.actions.declare_file("%s.objects/%s.o" % (ctx.label.name, source.short_path.replace("/", "_")))
        ctx.actions.run(
            executable = ctx.attr.compiler,
            arguments = flags + ["-c", source.path, "-o", output.path],
            inputs = depset([source] + headers, transitive = [compilation.headers]),
            outputs = [output],
            mnemonic = "FuzzCompile",
            use_default_shell_env = True,
        )
        objects.append(output)

    link = ["-fsanitize=fuzzer,address,undefined", "-static-libstdc++", "-static-libgcc", "-Wl,-rpath,$ORIGIN"]
    link += [file.path for file in objects]
    for input in context.linking_context.linker_inputs.to_list():
        for flag in input.user_link_flags:
            link += _static(flag)
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run(
        executable = ctx.attr.compiler,
        arguments = link + ["-o", program.path],
        inputs = objects,
        outputs = [program],
        mnemonic = "FuzzLink",
        use_default_shell_env = True,
    )
    return [DefaultInfo(executable = program, files = depset([program]))]

fuzz_binary = rule(
    implementation = _fuzz_binary_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cc", ".h"], mandatory = True),
        "deps": attr.label_list(aspects = [_sources_aspect], providers = [CcInfo]),
        "compiler": attr.string(default = "clang++-19"),
    },
    executable = True,
)
