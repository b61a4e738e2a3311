"""A library that pkg-config knows, as a Bazel repository.

Debian and Homebrew both describe their libraries to pkg-config, so one rule serves both. The library
is `@NAME//:NAME`.
"""

def _split(flags):
    return [flag for flag in flags.strip().split(" ") if flag]

def _query(ctx, tool, *args):
    result = ctx.execute([tool] + list(args) + [ctx.attr.package])
    if result.return_code != 0:
        fail("pkg-config does not know '%s' (%s). Run scripts/setup, which installs it." %
             (ctx.attr.package, result.stderr.strip()))
    return _split(result.stdout)

def _impl(ctx):
    tool = ctx.which("pkg-config") or ctx.which("pkgconf")
    if not tool:
        fail("pkg-config is missing. Run scripts/setup, which installs it.")
    copts = []
    includes = []
    for flag in _query(ctx, tool, "--cflags"):
        if flag.startswith("-I"):
            # Bazel refuses absolute include paths outside its own tree, so each is linked into the repository.
            link = "include%d" % len(includes)
            ctx.symlink(flag[2:], link)
            includes.append(link)
        elif flag.startswith("-D"):
            copts.append(flag[2:])
    linkopts = _query(ctx, tool, "--libs")
    if ctx.attr.prefer_archive and ctx.os.name == "linux":
        linkopts = ["-Wl,-Bstatic"] + linkopts + ["-Wl,-Bdynamic", "-lpthread", "-lm"]
    ctx.file("BUILD.bazel", """
cc_library(
    name = {name},
    hdrs = glob([i + "/**" for i in {includes}], allow_empty = True),
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
""".format(
        name = repr(ctx.name),
        defines = repr(copts),
        includes = repr(includes),
        linkopts = repr(linkopts),
    ))

pkg_config_repository = repository_rule(
    implementation = _impl,
    attrs = {
        "package": attr.string(mandatory = True),
        # Link the archive into the program, where the linker can be told to: for a large library that one command of
        # many needs, whose relocations every start of the program would wait for.
        "prefer_archive": attr.bool(),
    },
    environ = ["PATH", "PKG_CONFIG_PATH"],
    local = True,
)
