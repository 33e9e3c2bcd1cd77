// A page of headless Chromium that reports to the test: one JSON value per line on standard output.
//
// The test ends the run by closing standard input, or by dying; a line that it writes there is
// handed to the page.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'

// Without a sandbox, as tests may run as root; without whatever looks for hosts beyond this machine.
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

export function report (value) {
  process.stdout.write(JSON.stringify(value) + '\n')
}

/**
 * Opens `args.page` and runs `script` in it with `args`. There, `report(value)` prints a line,
 * `finish()` ends the run, and `window.onLine(text)`, if the script sets it, gets the test's lines.
 */
export async function run (script) {
  const args = JSON.parse(process.argv[2])
  const profile = mkdtempSync(join(tmpdir(), 'tailwater-chromium-'))
  let context
  try {
    context = await chromium.launchPersistentContext(profile, {
      executablePath: args.chromium,
      headless: true,
      args: FLAGS,
      extraHTTPHeaders: args.headers,
      ignoreHTTPSErrors: args.anyCertificate ?? false
    })
    const page = context.pages()[0] ?? await context.newPage()
    page.on('pageerror', error => report({ type: 'pageerror', message: error.message }))
    const finished = new Promise(resolve => page.exposeFunction('finish', resolve))
    await page.exposeFunction('report', report)
    await page.goto(args.page)
    await page.evaluate(script, args)
    await Promise.race([finished, relay(page)])
  } finally {
    await context?.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  process.exit(0)
}

async function relay (page) {
  for await (const line of createInterface({ input: process.stdin })) {
    await page.evaluate(text => window.onLine?.(text), line)
  }
}
