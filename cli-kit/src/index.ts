export const packageName = '@kim/cli-kit'
