import { createHash } from 'node:crypto'
import { eventIdOf, nonceOf } from '@kim/manifest'
import t from 'tap'

t.test('event id - of a message is its persona and number', async t => {
  const message = { agent: 'argus', event: 'new', item_id: 'argus/12', seq: 7, writer: 'w_1-a' }
  t.equal(eventIdOf('p', message), 'argus:new:12')
  t.equal(eventIdOf('another', { ...message, seq: 9, writer: 'w_2-b' }), 'argus:new:12', 'wherever it stands')
  t.equal(eventIdOf('p', { ...message, agent: 'Élodie', item_id: 'Élodie/7' }), 'Élodie:new:7')
  t.equal(eventIdOf('p', { ...message, agent: 'a/b', item_id: 'a/b/3' }), 'a/b:new:3')
  t.equal(eventIdOf('p', { ...message, item_id: 'elsewhere' }), 'argus:new:elsewhere')
})

t.test('event id - of anything else is its place in the journal', async t => {
  const run = createHash('sha256').update('p\nw_1-a').digest('hex').slice(0, 16)
  const note = { agent: 'argus', event: 'armed', item_id: 'argus', seq: 7, writer: 'w_1-a' }
  t.equal(eventIdOf('p', note), `argus:armed:${run}-7`)
  t.not(eventIdOf('q', note), eventIdOf('p', note), 'another project')
  t.not(eventIdOf('p', { ...note, writer: 'w_2-a' }), eventIdOf('p', note), 'another writer')
  t.match(eventIdOf('p', { seq: 3 }), /^_:_:[0-9a-f]{16}-3$/)
})

t.test('nonce - the worked examples', async t => {
  const examples = {
    'argus:new:12': 'vwwTOywuFUr',
    'argus:new:4061': '1FxAMbC27hZ',
    'codex:baseline_skipped:3bfb493ef12e906b-1': '5WXouBVnUsJ',
    'argus:new:5': 'QVYJLn8UH9E',
    'Élodie:new:7': 'ai5vxjWJ66o',
  }
  for (const [id, nonce] of Object.entries(examples)) t.equal(nonceOf(id), nonce, id)
  for (let i = 0; i < 1000; i++) {
    if (!/^[a-zA-Z0-9]{11}$/.test(nonceOf(`river:new:${i}`))) t.fail(`river:new:${i}`)
  }
})
