import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Browser, findBrowser, writeHiveHistory } from '../kit/index.js'
import { replay } from './replay-store.js'

const HOSTILE = `</script><script>document.title='taken'</script><img src=http://127.0.0.1:9/x onerror=alert(1)><b>"'&amp;`

const file = findBrowser()
if (file === undefined) t.test('CL-49 page - in a browser', { skip: 'no chromium is installed' }, () => {})
else {
  const home = mkdtempSync(join(tmpdir(), 'kim-page-'))
  const browser = await Browser.open(file)
  t.teardown(async () => {
    await browser.close()
    rmSync(home, { recursive: true, force: true })
  })
  const personas = ['river', 'argus', `lo<b>om</b>`]
  const events = writeHiveHistory(join(home, 'store'), { messages: 300, personas, days: 2, text: HOSTILE })
  const page = (name: string, ...args: string[]): string => {
    const out = join(home, name)
    const { code, err } = replay(['timeline', '-o', 'html', '--out', out, '--events', events, ...args])
    t.equal(code, 0, err)
    return pathToFileURL(out).href
  }
  const hostile = page('hostile.html', '--redact', 'none', '--title', HOSTILE)
  const nothing = page('nothing.html', '--until', '2000-01-01T00:00:00Z')

  /** Waits until a condition holds in the page. */
  const until = (condition: string): Promise<unknown> =>
    browser.eval(
      `new Promise(done => { const look = () => (${condition}) ? done(true) : setTimeout(look, 10); look() })`,
    )
  const text = (id: string): Promise<string> => browser.eval(`document.getElementById('${id}').textContent`)
  /** How many colours the picture has: one if nothing was painted. */
  const colours = `(() => { const c = document.getElementById('picture'); const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size })()`

  t.test('CL-49 page - opens from a file, asks for nothing and complains of nothing', async t => {
    for (const look of [{}, { dark: true }, { width: 390, height: 844 }]) {
      for (const url of [hostile, nothing]) {
        await browser.go(url, look)
        await until(`document.getElementById('count').textContent !== ''`)
        t.same(browser.complaints, [])
        t.same(browser.requests, [])
        t.ok((await browser.eval<number>(colours)) > 2, 'there is a picture')
        t.equal(
          await browser.eval('document.documentElement.scrollWidth'),
          look.width ?? 1280,
          'nothing sticks out',
        )
      }
    }
  })

  t.test('CL-49 page - has a table for the picture, and hostile text in it is text', async t => {
    await browser.go(hostile)
    await until(`document.querySelectorAll('#rows tr').length === 100`)
    t.ok((await text('rows')).includes(HOSTILE))
    t.equal(await browser.eval('document.title'), HOSTILE)
    t.equal(await browser.eval(`document.querySelectorAll('img, b, body a').length`), 0)
    t.equal(await browser.eval('document.scripts.length'), 2)
    t.ok(await browser.eval(`document.querySelectorAll('meter').length > 3`), 'the waits are there')
    t.same(browser.requests, [])
  })

  t.test('CL-49 page - everything is reached and moved by keyboard', async t => {
    await browser.go(hostile)
    await until(`document.getElementById('count').textContent !== ''`)
    const reached: string[] = []
    for (let i = 0; i < 25; i++) {
      await browser.press('Tab', 'Tab', 9)
      const at = `(e => e.id || e.dataset.kind || e.getAttribute('aria-labelledby') || e.localName)(document.activeElement)`
      reached.push(await browser.eval<string>(at))
      const outlined = `getComputedStyle(document.activeElement).outlineStyle`
      if (reached.at(-1) === 'body') break
      t.not(await browser.eval(outlined), 'none', `${reached.at(-1)} shows the focus`)
    }
    for (const id of [
      'left',
      'right',
      'in',
      'out',
      'all',
      'new',
      'other',
      'picture',
      'filter',
      'next',
      'h-lasted',
    ])
      t.ok(reached.includes(id), id)
    await browser.eval(`document.getElementById('picture').focus()`)
    const window = await text('window')
    await browser.press('+', 'Equal', 187)
    await until(`document.getElementById('window').textContent !== ${JSON.stringify(window)}`)
    await browser.press('ArrowRight', 'ArrowRight', 39)
    await browser.press('n', 'KeyN', 78)
    await until(`/seq \\d+/.test(document.getElementById('tip').textContent)`)
    await browser.press('0', 'Digit0', 48)
    await until(`document.getElementById('window').textContent === ${JSON.stringify(window)}`)
    t.same(browser.complaints, [])
  })
}
