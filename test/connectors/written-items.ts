import fc from 'fast-check';
import { toZonedIso } from '../../src/core/model/time.ts';
import { allDay, timed } from '../contract/contract-kit.ts';

/** Zones whose offsets are whole hours, quarters and halves, with and without summer time. */
export const ZONES = ['Europe/Rome', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC'];

/** Times of part of a day, in any of the zones. */
export const times = fc
  .tuple(fc.constantFrom(...ZONES), fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 1, max: 100_000 }))
  .map(([zone, start, length]) =>
    timed(toZonedIso(zone, start * 1_000), toZonedIso(zone, (start + length) * 1_000), zone),
  );
/** Any text, half surrogates and control characters included. */
const texts = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });

/** Calendar items with arbitrary content that a write may contain. */
export const items = fc.record({
  title: texts,
  description: fc.option(texts),
  location: fc.option(texts),
  time: fc.oneof(times, fc.constant(allDay('2027-01-01', '2027-01-03'))),
  busy: fc.boolean(),
});
