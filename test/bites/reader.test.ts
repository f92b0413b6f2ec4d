import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type Plant, root, runNamed } from './plants.js'

const READER = 'manifest/dist/segment-reader.js'
const BACKWARDS = 'manifest/dist/segment-backwards.js'
const FOLD = 'manifest/dist/fold.js'
const TABLE = 'manifest/dist/entity-table.js'
const CHECKPOINT = 'manifest/dist/checkpoint-reader.js'
const RUNNER = 'monitor/dist/exec-retry.js'

const runnerTest = 'monitor/dist-test/exec-retry.test.js'
const readerTest = 'manifest/dist-test/segment-reader.test.js'
const foldTest = 'manifest/dist-test/fold.test.js'
const lazyTest = 'manifest/dist-test/fold-lazy.test.js'
const tableTest = 'manifest/dist-test/entity-table.test.js'
const checkpointTest = 'manifest/dist-test/checkpoint-reader.test.js'

const anyOrder = 'entity table - agrees with a map under any order of changes'
const anyCut = 'segment reader - reports the same however the bytes are cut'
const lazyReader = 'segment reader - a lazy reader reports what a strict one does, or gives up'
const lazyFold = 'fold - lines that are not parsed make the state that parsed ones make'

/** Every fault that the one reader, the one fold and the one runner must not have, beside the test that notices it. */
const PLANTS: readonly Plant[] = [
  {
    title: 'the runner tries an event once more than it may',
    file: RUNNER,
    from: 'tries >= triesMax',
    to: 'tries > triesMax',
    test: runnerTest,
    named: 'command runner - KS-72 other events have the tries of their class',
  },
  {
    title: 'the reader drops the last line of a chunk',
    file: READER,
    from: 'this.#rest = end === bytes.length ? NO_BYTES : bytes.subarray(end);',
    to: '',
    test: readerTest,
    named: anyCut,
  },
  {
    title: 'the reader loses count of where lines begin',
    file: READER,
    from: 'this.#end += feed + 1 - from;',
    to: 'this.#end += feed - from;',
    test: readerTest,
    named: 'segment reader - stops in front of a line and goes on from there',
  },
  {
    title: 'the reader releases a transaction that is not complete',
    file: READER,
    from: 'this.#listener.dropped?.(lines);',
    to: 'for (const line of lines) this.#listener.released?.(line);',
    test: foldTest,
    named: 'transactions - apply together or not at all',
  },
  {
    title: 'the reader gives a repeated line its effect again',
    file: READER,
    from: 'this.#listener.repeated?.(line);',
    to: 'this.#listener.released?.(line);',
    test: foldTest,
    named: 'duplicates - rule 1: the same line again in its segment is nothing',
  },
  {
    title: 'a reader that begins in the middle forgets the lines before it',
    file: READER,
    from: 'this.#repeats = this.#recall(first.offset);',
    to: 'this.#repeats = new RepeatedLines();',
    test: readerTest,
    named: 'segment reader - one that begins in the middle knows the lines before it',
  },
  {
    title: 'a lazy reader ignores the order of seqs',
    file: READER,
    from: 'if (frame.seq <= this.#peak) {',
    to: 'if (false) {',
    test: readerTest,
    named: lazyReader,
  },
  {
    title: 'a lazy reader lets an open transaction go on behind another line',
    file: READER,
    from: 'this.#drop(this.#runs.interrupt());\n            if (frame.seq',
    to: 'if (frame.seq',
    test: readerTest,
    named: lazyReader,
  },
  {
    title: 'a lazy reading that gives up is not made void',
    file: READER,
    from: 'listener.restart?.();',
    to: '',
    test: readerTest,
    named: lazyReader,
  },
  {
    title: 'the backward reader returns every repeated line',
    file: BACKWARDS,
    from: 'if (seen.has(mark))',
    to: 'if (false)',
    test: readerTest,
    named: 'segment backwards - returns the records forwards, turned round',
  },
  {
    title: 'the backward reader returns the first of repeated lines',
    file: BACKWARDS,
    from: 'of releaseBackwards(linesBackwards(source), wanted)) {',
    to: 'of [...releaseBackwards(linesBackwards(source), wanted)].reverse()) {',
    test: readerTest,
    named: 'segment backwards - of repeated lines the last one is returned',
  },
  {
    title: 'the backward reader returns a part of a transaction',
    file: BACKWARDS,
    from: 'if (run.length === tx.n)\n',
    to: '\n',
    test: readerTest,
    named: 'segment backwards - returns the records forwards, turned round',
  },
  {
    title: 'the fold ignores a removal',
    file: FOLD,
    from: 'const { entities } = this;\n        entities.remove(slot, revision);',
    to: 'const { entities } = this;',
    test: foldTest,
    named: 'fold - upsert, remove and upsert again',
  },
  {
    title: 'the fold keeps the older image',
    file: FOLD,
    from: 'entities.put(slot, image(before), entity_rev);',
    to: 'entities.put(slot, before ?? image(before), entity_rev);',
    test: foldTest,
    named: 'duplicates - rule 2: same seq and writer, later wins',
  },
  {
    title: 'the fold misses a registry genesis',
    file: FOLD,
    from: "if (effect === 'meta' && isRegistryGenesis(record))",
    to: 'if (false)',
    test: foldTest,
    named: 'registry - a genesis makes it authoritative, and it stays so',
  },
  {
    title: 'the fold keeps the first writer of the highest seq as head',
    file: FOLD,
    from: 'if (seq >= this.#head.seq)',
    to: 'if (seq > this.#head.seq)',
    test: foldTest,
    named: 'head - the highest seq, and of several with it the last one',
  },
  {
    title: 'the fold lets a revision jump by two',
    file: FOLD,
    from: 'entity_rev > known + 1)',
    to: 'entity_rev > known + 2)',
    test: foldTest,
    named: 'revisions - a jump of more than one counts',
  },
  {
    title: 'the fold ignores what a repair explains',
    file: FOLD,
    from: 'this.#continuity.repair(repaired);',
    to: ';',
    test: foldTest,
    named: 'continuity - holes, repairs and regressions',
  },
  {
    title: 'the fold keeps revisions of types that forget them',
    file: FOLD,
    from: 'if (!isKnown || this.#options.forgets?.(entities.typeAt(slot)) === true)',
    to: 'if (!isKnown)',
    test: foldTest,
    named: 'revisions - of forgotten types end with a delete',
  },
  {
    title: 'a checkpoint that states the revision of a live entity removes it',
    file: FOLD,
    from: 'if (this.entities.imageAt(slot) === undefined)',
    to: '',
    test: foldTest,
    named: 'fold - begins with a checkpoint and reaches what a forward reader has',
  },
  {
    title: 'the fold ignores a removal that is not parsed',
    file: FOLD,
    from: 'this.#remove(slot, revision);\n        else',
    to: ';\n        else',
    test: lazyTest,
    named: lazyFold,
  },
  {
    title: 'the fold does not see the number of a line that is not parsed',
    file: FOLD,
    from: 'this.#continuity.see(frame.seq);',
    to: '',
    test: lazyTest,
    named: lazyFold,
  },
  {
    title: 'the fold takes a tombstone for a record whatever it carries',
    file: FOLD,
    from: "(effect === 'remove' && frame.hasPayload)",
    to: 'false',
    test: lazyTest,
    named: 'fold - a tombstone that is not parsed is no record if its payload is none',
  },
  {
    title: 'the table forgets an entity and still finds its slot',
    file: TABLE,
    from: 'this.#unlink(slot);',
    to: '',
    test: tableTest,
    named: 'entity table - has room for any number that come and are forgotten',
    hangs: true,
  },
  {
    title: 'the table loses those behind a forgotten entity',
    file: TABLE,
    from: 'for (let at = (hole + 1) & mask; this.#buckets[at] !== FREE;',
    to: 'for (let at = (hole + 1) & mask; false;',
    test: tableTest,
    named: anyOrder,
    hangs: true,
  },
  {
    title: 'the table counts a removed entity as live',
    file: TABLE,
    from: 'this.#size -= 1;',
    to: '',
    test: tableTest,
    named: anyOrder,
  },
  {
    title: 'the checkpoint reader ignores the announced number',
    file: CHECKPOINT,
    from: 'if (this.#entities === this.#header.entity_count)',
    to: '',
    test: checkpointTest,
    named: 'checkpoint reader - wants the announced number of entities',
  },
  {
    title: 'the checkpoint reader ignores text behind the footer',
    file: CHECKPOINT,
    from: "if (this.#isFooted)\n            this.#fault ??= 'it does not end like a checkpoint';\n        else if",
    to: 'if',
    test: checkpointTest,
    named: 'checkpoint reader - wants the footer at the very end',
  },
]

t.jobs = availableParallelism()
// Each run is bounded by itself.
t.setTimeout(0)

t.test('reader and fold - without a fault the named tests pass', { buffered: true, timeout: 0 }, async t => {
  const named = new Map(PLANTS.map(plant => [`${plant.test}: ${plant.named}`, plant]))
  for (const [title, plant] of named) t.same(await runNamed(plant), { ran: true, passed: true }, title)
})

for (const plant of PLANTS) {
  t.test(`reader and fold - ${plant.title}: a test notices`, { buffered: true, timeout: 0 }, async t => {
    const code = readFileSync(join(root, plant.file), 'utf8')
    t.equal(code.split(plant.from).length, 2, `the fault has one place in ${plant.file}`)
    t.same(await runNamed(plant, plant), { ran: true, passed: false }, `${plant.test}: ${plant.named}`)
  })
}
