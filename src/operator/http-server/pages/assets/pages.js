// Optional functions of pages: copy buttons, keyboard shortcuts and live updates. All pages and forms also work without this script.

/** Returns the part of the page that live updates replace. */
const main = () => document.getElementById('main');

// Copy buttons.
const showCopyButtons = () => {
  for (const button of document.querySelectorAll('button.copy[hidden]')) button.hidden = false;
};
document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('button.copy');
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const before = button.textContent;
  button.textContent = button.dataset.done;
  setTimeout(() => {
    button.textContent = before;
  }, 1_500);
});

// j and k move through the rows, Enter opens the focused row (a link), / focuses the search.
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea, select, [contenteditable]')) return;
  if (event.key === '/') {
    const search = document.querySelector('input[type="search"]');
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
    return;
  }
  if (event.key !== 'j' && event.key !== 'k') return;
  const rows = [...document.querySelectorAll('a.row')];
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement);
  const next = event.key === 'j' ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
  rows[next].focus();
  event.preventDefault();
});

/**
 * Fetches the page and replaces the main part. Keeps focus, open details and typed text. After too many requests, returns the seconds
 * before the next request and leaves the page unchanged; otherwise returns 0.
 */
async function renew() {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (response.status === 429) return Number(response.headers.get('retry-after'));
  if (!response.ok || response.redirected) {
    location.reload();
    return 0;
  }
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  const renewed = next.getElementById('main');
  if (!renewed || !main()) return 0;
  globalThis.Idiomorph.morph(main(), renewed, {
    ignoreActiveValue: true,
    restoreFocus: true,
    callbacks: {
      beforeAttributeUpdated: (name, node, change) =>
        !(change === 'remove' && name === 'open' && node.tagName === 'DETAILS'),
    },
  });
  showCopyButtons();
  return 0;
}

/** Receives live updates while the page is visible, because a browser limits the connections to one server. */
function follow({ live, seen, lost }) {
  let source = null;
  let renewing = Promise.resolve();
  let isAsked = false;
  const notice = document.createElement('p');
  notice.className = 'lost';
  notice.setAttribute('role', 'status');
  const tell = (text) => {
    notice.textContent = text;
    if (text === '') notice.remove();
    else document.body.append(notice);
  };
  const ask = () => {
    // One pending update is sufficient for any number of events.
    if (isAsked) return;
    isAsked = true;
    renewing = renewing
      .then(() => {
        isAsked = false;
        return renew();
      })
      .then((waitSeconds) => {
        if (waitSeconds > 0) setTimeout(ask, waitSeconds * 1_000);
      })
      .catch(() => tell(lost));
  };
  const open = () => {
    if (source !== null || document.hidden) return;
    const asked = { ...(live === '' ? {} : { tenant: live }), ...(seen === undefined ? {} : { seen }) };
    source = new EventSource(`/events?${new URLSearchParams(asked)}`);
    source.addEventListener('changed', ask);
    source.addEventListener('open', () => tell(''));
    source.addEventListener('error', () => tell(lost));
  };
  const close = () => {
    source?.close();
    source = null;
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return close();
    open();
    ask();
  });
  addEventListener('pagehide', close);
  open();
}

showCopyButtons();
if (document.body.dataset.live !== undefined) follow(document.body.dataset);
