import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReminderKey } from '../../../src/core/model/reminders.ts';
import {
  createAddressSecrets,
  createMessageProofs,
  createReminderNames,
} from '../../../src/features/reminders/identity.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);
const TENANT = 'studio-rossi';

describe('the name of a reminder', () => {
  const name = createReminderNames(IDENTITY_KEY, TENANT);
  const key: ReminderKey = { appointmentId: 'a', startAt: 1, rule: 'day-before', channel: 'text' };

  test('is the same in each process, whatever was lost, and is 32 characters', () => {
    expect(name(key)).toMatch(/^[0-9a-v]{32}$/);
    expect(createReminderNames(IDENTITY_KEY, TENANT)({ ...key, correction: null })).toBe(name(key));
  });

  test('is another for another appointment, start, rule, channel, correction, tenant and key', () => {
    const correction = { kind: 'moved', fact: 'f' } as const;
    const others: Partial<ReminderKey>[] = [
      ...[{}, { appointmentId: 'b' }, { startAt: 2 }, { rule: 'hour-before' }, { channel: 'mail' }, { correction }],
      ...[{ correction: { ...correction, fact: 'g' } }, { correction: { ...correction, kind: 'changed' } } as const],
    ];
    const names = others.map((changes) => name({ ...key, ...changes }));
    names.push(createReminderNames(IDENTITY_KEY, 'studio-verdi')(key));
    names.push(createReminderNames(Buffer.alloc(32, 8), TENANT)(key));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the proof of a message', () => {
  const proofs = createMessageProofs(IDENTITY_KEY, TENANT);

  test('differs by the content of the message, and reveals no content', () => {
    const all = [
      ...[proofs.patient('r', 'p1'), proofs.patient('r', 'p2'), proofs.patient('r', null), proofs.patient('s', 'p1')],
      ...[proofs.locationProof('a', 'via roma 1'), proofs.locationProof('b', 'via roma 1')],
      ...[proofs.locationProof('a', 'via', 'roma 1'), proofs.locationProof('a')],
    ];
    expect(new Set(all).size).toBe(all.length);
    for (const proof of all) expect(proof).toMatch(/^[\w-]{22}$/);
  });
});

describe('the URL in a reminder', () => {
  const secrets = createAddressSecrets(IDENTITY_KEY, TENANT);
  const made = { reminder: 'r', patientId: 'p1', proof: secrets.patient('r', 'p1') };

  test('is valid with the token of its reminder and the patient of that time', () => {
    expect(secrets.isOurs(secrets.token('r'), made)).toBe(true);
    expect(createAddressSecrets(IDENTITY_KEY, TENANT).isOurs(secrets.token('r'), made)).toBe(true);
  });

  test('is not valid for another reminder, patient, tenant or key', () => {
    expect(secrets.isOurs(secrets.token('s'), made)).toBe(false);
    expect(secrets.isOurs(secrets.token('r'), { ...made, patientId: 'p2' })).toBe(false);
    expect(secrets.isOurs(secrets.unsubscribe('r'), made)).toBe(false);
    for (const other of [createAddressSecrets(IDENTITY_KEY, 'b'), createAddressSecrets(Buffer.alloc(32, 8), TENANT)]) {
      expect(other.isOurs(secrets.token('r'), made)).toBe(false);
    }
  });

  test.each([[[{ toString: 0 }]], [Object.create(null)], [Symbol('r')], [null]])(
    'is refused if it is no string',
    (token) => {
      expect(secrets.isOurs(token as unknown as string, made)).toBe(false);
      expect(secrets.isOurs(secrets.token('r'), { ...made, proof: token as unknown as string })).toBe(false);
    },
  );

  test('is refused whatever comes in its place', () => {
    fc.assert(
      fc.property(fc.anything(), (token) => {
        expect(secrets.isOurs(token as string, made)).toBe(false);
        expect(secrets.isOurs(secrets.token('r'), { ...made, proof: token as string })).toBe(false);
      }),
    );
  });
});
