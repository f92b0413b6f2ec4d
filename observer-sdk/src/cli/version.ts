/** The version of this package, as `--version` prints it; a test holds it to package.json. */
export const VERSION = '0.1.0'
