import t from 'tap'
import { enumerateAll } from './report.js'
import { scenarios } from './scenarios.js'

enumerateAll(
  t,
  scenarios.filter(({ opens }) => opens === true),
  'RC-5 RC-7 RC-9 RC-18 JF-76',
)
