// What the caller may watch, and what comes of it. Credentials stay in this page and are gone with it.

import { watch } from './tailwater.js'

/** Events kept on the page. */
const MOST = 500

/** Parameters that steer a stream; what is left of a channel's are its variables. */
const STEERING = ['lastEventId', 'avars', 'etag', 'ticket', 'jsonMode', 'heartbeat']

const element = id => document.getElementById(id)
/** Where these routes are, below whatever a host program nests them. */
const base = location.pathname.replace(/\/_\/console\/.*$/, '')

let authorization
let channel
let stream

function credential ({ user, password, token }) {
  if (token.value) return `Bearer ${token.value}`
  if (!user.value) return undefined
  const bytes = new TextEncoder().encode(`${user.value}:${password.value}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

const headers = () => ({ 'no-auth-challenge': '1', ...(authorization && { authorization }) })

async function ask (path) {
  const response = await fetch(base + path, { headers: headers(), credentials: 'same-origin' })
  const text = await response.text()
  if (response.ok) return JSON.parse(text)
  let reason = response.status === 401 ? 'sign in to see what you may watch' : response.statusText
  try {
    reason = JSON.parse(text).message ?? reason
  } catch { /* no body says more */ }
  throw Error(`${response.status}: ${reason}`)
}

function said (error) {
  element('message').textContent = error?.message ?? ''
}

function make (name, text, more = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, more)
}

async function list () {
  stop()
  element('channel').hidden = true
  element('channels').replaceChildren()
  const served = await ask('/_/asyncapi.json')
  for (const [id, found] of Object.entries(served.channels)) {
    const button = make('button', found.title)
    button.append(make('small', found.address))
    button.onclick = () => choose(button, found, served.operations[id])
    const item = make('li', '')
    item.append(button)
    element('channels').append(item)
  }
  if (!element('channels').children.length) throw Error('nothing is declared that you may watch')
}

function choose (button, found, operation) {
  stop()
  for (const other of document.querySelectorAll('nav button')) other.removeAttribute('aria-current')
  button.setAttribute('aria-current', 'true')
  channel = found
  const query = (operation.bindings?.http ?? found.bindings?.ws).query
  const variables = Object.keys(query.properties).filter(name => !STEERING.includes(name))
  const inputs = variables.map(name => {
    const label = make('label', `${name} `)
    label.append(make('input', '', { name, required: query.required?.includes(name) ?? false }))
    return label
  })
  element('parameters').replaceChildren(...inputs)
  element('channel').querySelector('h2').textContent = found.address
  element('description').textContent = found.description ?? ''
  element('plan').hidden = !found.address.includes('/_streams/')
  element('events').replaceChildren()
  element('channel').hidden = false
}

function address () {
  const url = new URL(base + channel.address, location)
  for (const { name, value } of element('parameters').querySelectorAll('input')) {
    if (value) url.searchParams.set(name, value)
  }
  return url
}

function start () {
  stop()
  element('events').replaceChildren()
  stream = watch(address(), {
    headers: headers(),
    tickets: `${base}/_/tickets`,
    // Whatever the stream has.
    on: new Proxy({}, { get: (_, event) => (data, { id }) => show(event, data, id) }),
    onState: (state, { transport, code, message }) => {
      const why = [code, message].filter(Boolean).join(' ')
      element('state').textContent = `${state} (${transport})${why && `: ${why}`}`
      if (state === 'closed') ended()
    }
  })
  element('stop').disabled = false
}

function stop () {
  stream?.close()
  ended()
}

function ended () {
  stream = undefined
  element('stop').disabled = true
}

/** One line about an event; all of it when it is opened. */
function show (event, data, id) {
  const key = data?.documentKey?._id ?? data?.subject ?? data?.reason ?? data?.state ?? ''
  const brief = typeof key === 'string' ? key : JSON.stringify(key)
  const summary = make('summary', '')
  summary.append(
    make('time', new Date().toLocaleTimeString()),
    make('b', data?.operationType ? `${event} ${data.operationType}` : event),
    make('span', brief, { title: id ?? '' })
  )
  const details = make('details', '')
  details.append(summary, make('pre', JSON.stringify(data, null, 2)))
  const item = make('li', '')
  item.append(details)
  const events = element('events')
  events.prepend(item)
  while (events.children.length > MOST) events.lastChild.remove()
}

async function plan () {
  const { pathname, search } = address()
  const path = encodeURIComponent(pathname.slice(base.length) + search)
  const found = await ask(`/_/explain?path=${path}`)
  show('plan', found)
  element('events').firstChild.firstChild.open = true
}

function handle (target, event, action) {
  target.addEventListener(event, async happened => {
    happened.preventDefault()
    said()
    try {
      await action()
    } catch (error) {
      said(error)
    }
  })
}

handle(element('login'), 'submit', () => {
  authorization = credential(element('login'))
  return list()
})
handle(element('watch'), 'submit', start)
handle(element('stop'), 'click', stop)
handle(element('plan'), 'click', plan)
list().catch(said)
