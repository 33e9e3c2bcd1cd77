// Uses the console as a person does: signs in, chooses a channel, watches it and asks for its plan.
//
//   page              the console
//   user, password    who signs in
//   channel           the address of what is chosen
//   parameters        its variables, by name
//
// Prints {type: "message", text} when the page says something, {type: "channels", addresses},
// {type: "state", text} and {type: "event", text, data}; a line "watch", "plan" or "stop" from the
// test presses that button.

import { run } from './page.mjs'

await run(async args => {
  const element = id => document.getElementById(id)
  const seen = (id, tell) => new MutationObserver(tell).observe(element(id), { childList: true, subtree: true })
  const message = () => window.report({ type: 'message', text: element('message').textContent })
  seen('message', message)
  seen('state', () => window.report({ type: 'state', text: element('state').textContent }))
  seen('events', records => {
    for (const item of records.flatMap(({ addedNodes }) => [...addedNodes])) {
      const text = item.querySelector('summary').textContent
      window.report({ type: 'event', text, data: JSON.parse(item.querySelector('pre').textContent) })
    }
  })
  const fill = (form, values) => {
    for (const [name, value] of Object.entries(values)) form.querySelector(`[name="${name}"]`).value = value
  }
  await message()
  window.onLine = async line => {
    if (line === 'sign in') {
      fill(element('login'), { user: args.user, password: args.password })
      element('login').requestSubmit()
    } else if (line === 'list') {
      const addresses = [...document.querySelectorAll('nav small')].map(({ textContent }) => textContent)
      await window.report({ type: 'channels', addresses })
    } else if (line === 'choose') {
      const small = [...document.querySelectorAll('nav small')]
      small.find(({ textContent }) => textContent === args.channel).closest('button').click()
      fill(element('watch'), args.parameters)
    } else if (line === 'watch') element('watch').requestSubmit()
    else element(line).click()
  }
})
