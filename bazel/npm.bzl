"""The npm packages of a package-lock.json, as a Bazel repository.

The lock file pins every package by its digest. What npm has in its cache is not downloaded again. The
folder is `@NAME//:node_modules`; scripts run in it as they are published, none is run while installing.
"""

def _impl(ctx):
    npm = ctx.which("npm")
    node = ctx.which("node")
    if not npm or not node:
        fail("node and npm are missing. Run scripts/setup, which installs them.")
    ctx.symlink(ctx.attr.package, "package.json")
    ctx.symlink(ctx.attr.lock, "package-lock.json")
    result = ctx.execute(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"],
        timeout = 600,
    )
    if result.return_code != 0:
        fail("npm ci failed (%s). Check the network and npm's registry setting, then try again." % result.stderr.strip())

    # Packages of Bazel's own would cut the folder into pieces.
    ctx.execute(["find", "node_modules", "(", "-name", "BUILD", "-o", "-name", "BUILD.bazel", ")", "-delete"])
    ctx.file("BUILD.bazel", """
filegroup(
    name = "node_modules",
    srcs = glob(
        ["node_modules/**"],
        exclude = ["node_modules/.bin/**", "node_modules/.package-lock.json", "**/*.map", "**/* *"],
    ),
    visibility = ["//visibility:public"],
)

# A file whose place tells where the folder lies.
exports_files(["package-lock.json"])
""")

npm_repository = repository_rule(
    implementation = _impl,
    attrs = {
        "package": attr.label(mandatory = True, allow_single_file = True),
        "lock": attr.label(mandatory = True, allow_single_file = True),
    },
    environ = ["PATH"],
)
