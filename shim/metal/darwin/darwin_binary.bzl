"""Mach-O files for arm64 macOS, cross-built on Linux."""

def darwin_binary(name, kind, srcs, hdrs, **kwargs):
    """Cross-builds NAME.

    Args:
      name: the file's name.
      kind: "dylib" or "program".
      srcs: sources to compile.
      hdrs: headers that they include.
      **kwargs: visibility and the like.
    """
    native.genrule(
        name = name + "_build",
        srcs = srcs + hdrs + ["//shim/metal/darwin:headers_and_stubs"],
        outs = [name],
        cmd = "$(execpath //shim/metal/darwin:cross_build) %s $@ %s" % (
            kind,
            " ".join(["$(execpath %s)" % src for src in srcs]),
        ),
        executable = kind == "program",
        tools = ["//shim/metal/darwin:cross_build"],
        **kwargs
    )
