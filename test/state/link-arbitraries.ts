import fc from 'fast-check';
import type { Link } from '../../src/core/model/operations.ts';
import { recordIds } from '../domain/arbitraries.ts';

/** In whole minutes, as most are, and in seconds. */
const instants = {
  startAt: fc.oneof(
    fc.integer({ min: -1_000_000, max: 4_000_000_000 }).map((seconds) => seconds * 1_000),
    fc.integer({ min: -1_000, max: 60_000_000 }).map((minutes) => minutes * 60_000),
  ),
  lengthMs: fc.oneof(
    fc.nat(4_000_000).map((seconds) => seconds * 1_000),
    fc.nat(50_000).map((minutes) => minutes * 60_000),
  ),
};

/** Links of a target, each of another record. */
export const someLinks = fc.uniqueArray(
  fc
    .record(
      {
        recordId: recordIds,
        fingerprint: fc.stringMatching(/^[\w.-]{0,22}$/),
        versionTag: fc.option(
          fc.oneof(
            fc.stringMatching(/^[!-~]{1,30}$/),
            fc.stringMatching(/^"-?\d{1,20}"$/),
            fc.stringMatching(/^"\w{1,9}"$/),
          ),
        ),
        ...instants,
        idAttempt: fc.nat(8),
        remoteId: fc.option(fc.stringMatching(/^[!-~]{1,60}$/)),
        drift: fc.constantFrom(null, 'edited' as const, 'removed' as const),
        revision: fc.integer({ min: 1, max: 1e12 }),
        ...Object.fromEntries(
          ['storedFingerprint', 'observedFingerprint'].map((name) => [name, fc.stringMatching(/^[\w.-]{22}$/)]),
        ),
      },
      {
        requiredKeys: [
          'recordId',
          'fingerprint',
          'versionTag',
          'startAt',
          'lengthMs',
          'idAttempt',
          'remoteId',
          'drift',
        ],
      },
    )
    .map(({ lengthMs, ...link }): Link => ({ ...link, endAt: link.startAt + lengthMs })),
  { selector: ({ recordId }) => recordId, maxLength: 30 },
);
