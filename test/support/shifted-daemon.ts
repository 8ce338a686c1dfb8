// Loaded into a daemon by `node --import`: on SIGUSR2, its clock advances by the milliseconds in CLOCK_OFFSET_FILE.
import { existsSync, readFileSync } from 'node:fs';
import { shiftDate } from './shifted-date.ts';

const date = shiftDate();
const read = () => {
  const file = process.env.CLOCK_OFFSET_FILE ?? '';
  if (existsSync(file)) date.offsetMs = Number(readFileSync(file, 'utf8'));
};
read();
process.on('SIGUSR2', read);
