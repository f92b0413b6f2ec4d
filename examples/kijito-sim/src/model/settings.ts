/** What differs between deployments, and what of the real server is not known. Everything can change while it runs. */
export interface Settings {
  readonly dialect: 'local' | 'hosted'
  /** Requests need this token; null: none is asked for. */
  readonly token: string | null
  /** Answer 403 to an agent without a name of its own. */
  readonly namedAgentsOnly: boolean
  /** False answers 404 everywhere: the feature is off on this account. */
  readonly hive: boolean
  /** Rows a page holds at most, where the request names no `limit`; null: no count limit. */
  readonly pageRows: number | null
  /** Characters of content a page holds at most; null: no budget. */
  readonly pageBudget: number | null
  readonly rowOrder: 'ascending' | 'descending' | 'shuffled'
  /** Whether `mark_read=true` marks the rows that the budget dropped too. */
  readonly marksDropped: boolean
  /** How `notify/pending` is served: with tokens and holds, as a plain table, or not at all. */
  readonly pending: 'long-poll' | 'plain' | 'missing'
  /** What stands as `unread` in the table of counts. */
  readonly unreadCounts: 'counted' | 'zero' | 'absent'
  /** Whether an inbox without unread mail has a row of counts. */
  readonly zeroRows: boolean
  /** Seconds a request is held at most, whatever it asks for. */
  readonly maxWaitSeconds: number
  /** Whether the first request, the one without a token, is held. */
  readonly holdFirst: boolean
  /** Whether reading mail moves the token too. */
  readonly readMovesToken: boolean
  /** Members of a directory's row besides `persona`. */
  readonly directoryMembers: readonly DirectoryMember[]
  /** Whether the directory lists every name that was ever written to. */
  readonly listsRecipients: boolean
}

/** A member of a directory's row. */
export type DirectoryMember = 'memory_count' | 'projects' | 'mail_total' | 'unread' | 'retired' | 'write_only'

const hosted: Settings = {
  dialect: 'hosted',
  token: null,
  namedAgentsOnly: true,
  hive: true,
  pageRows: 50,
  pageBudget: 20_000,
  rowOrder: 'descending',
  marksDropped: false,
  pending: 'long-poll',
  unreadCounts: 'counted',
  zeroRows: false,
  maxWaitSeconds: 60,
  holdFirst: false,
  readMovesToken: false,
  directoryMembers: ['memory_count', 'projects', 'mail_total', 'unread', 'retired', 'write_only'],
  listsRecipients: true,
}

const local: Settings = {
  ...hosted,
  dialect: 'local',
  namedAgentsOnly: false,
  pageRows: null,
  pageBudget: null,
  rowOrder: 'ascending',
  pending: 'plain',
  directoryMembers: ['memory_count', 'projects'],
  listsRecipients: false,
}

/** The settings of a deployment, with what differs from them. */
export function settingsOf(dialect: Settings['dialect'], more: Partial<Settings> = {}): Settings {
  return { ...(dialect === 'hosted' ? hosted : local), ...more, dialect }
}
