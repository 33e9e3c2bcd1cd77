// Fails when the module, minified, outgrows what the README promises.

import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { transformSync } from 'esbuild'

const LIMIT = 4096

const source = readFileSync(new URL('tailwater.js', import.meta.url), 'utf8')
const { code } = transformSync(source, { minify: true, format: 'esm', target: 'es2022' })
const size = Buffer.byteLength(code)
console.log(`tailwater.js: ${size} bytes minified, ${gzipSync(code).length} with gzip; limit ${LIMIT}`)
process.exit(size < LIMIT ? 0 : 1)
