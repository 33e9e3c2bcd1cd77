// Opens several EventSources of one URL on a page, as several tabs of a user would.
//
//   page, headers    as in eventsource.mjs
//   url              the stream
//   count            how many
//   anyCertificate   takes whatever certificate the server shows
//
// Prints {type: "open", number} and {type: "change", number, data}.

import { run } from './page.mjs'

await run(args => {
  for (let number = 0; number < args.count; number++) {
    const source = new EventSource(args.url)
    source.onopen = () => window.report({ type: 'open', number })
    source.addEventListener('change', ({ data }) => window.report({ type: 'change', number, data }))
  }
})
