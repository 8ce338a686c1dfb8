// Loaded by `node --import` into each process of the tests and what it starts: their clocks show the date of the tests. The address ends with
// the milliseconds that it is ahead of the host's clock. JavaScript, since programs that tests start, such as npm, may run with an older
// Node, which reads no TypeScript: these keep the host's clock.
import { subscribe } from 'node:diagnostics_channel';

if (process.features.typescript) {
  const { shiftDate } = await import('./shifted-date.ts');
  shiftDate(Number(new URL(import.meta.url).search.slice(1)));
  // Node's server writes the host's time. A reader compares this time with the clock of the process.
  subscribe('http.server.request.start', (message) => {
    message.response.setHeader('Date', new Date().toUTCString());
  });
}
