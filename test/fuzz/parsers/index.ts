import type { Parser } from '../parser.ts';
import { ANSWERS } from './answers.ts';
import { CALENDARS } from './calendars.ts';
import { CALLERS } from './callers.ts';
import { RECORDS } from './records.ts';

/** Every parser of external input, by name. */
export const PARSERS: ReadonlyMap<string, Parser> = new Map(
  [...ANSWERS, ...CALENDARS, ...RECORDS, ...CALLERS].map((parser) => [parser.name, parser]),
);
