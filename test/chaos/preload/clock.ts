// Loaded into a daemon by `node --import`: its clock shows what the harness says.
import { shiftDate } from '../../support/shifted-date.ts';

const date = shiftDate();
process.on('message', (message: unknown) => {
  if (typeof message === 'object' && message !== null && 'offsetMs' in message)
    date.offsetMs = Number(message.offsetMs);
});
// Lets the daemon exit although it listens here.
process.channel?.unref();
