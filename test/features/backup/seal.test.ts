import { describe, expect, test } from 'vitest';
import type { Credential } from '../../../src/core/model/credentials.ts';
import { openBackup, sealBackup, type TenantBackup } from '../../../src/features/backup/seal.ts';
import { createSealer } from '../../../src/state/sealing.ts';
import { identityFingerprint } from '../../../src/state/state-counter.ts';

const RING = [{ id: 'k1', key: Buffer.alloc(32, 9) }];
const IDENTITY = identityFingerprint(Buffer.alloc(32, 7));
const sealer = createSealer(RING, 'studio');

const credential: Credential = {
  provider: 'clinic',
  status: 'active',
  tokens: { accessToken: 'access-canary', refreshToken: 'refresh-canary' },
  scopes: [],
} as unknown as Credential;

const backup: TenantBackup = {
  at: 1_780_000_000_000,
  identity: IDENTITY,
  credentials: { clinic: credential },
  safeguards: { tombstones: { hash: '1' }, receipts: { abc: '{}' }, optOuts: { mark: '{}' } },
  pins: { doctor: { 'record-canary': 1_790_000_000_000 } },
  rejections: [],
  managed: null,
  clinicTenant: 'clinic-canary',
};

describe('a backup', () => {
  test('decrypts to its original content, and shows nothing before', () => {
    const text = sealBackup(sealer, backup);
    expect(text).not.toMatch(/canary/);
    expect(openBackup(sealer, text, IDENTITY)).toEqual(backup);
  });

  test('is of use to its own tenant only', () => {
    const other = createSealer(RING, 'other');
    const refused = expect.objectContaining({ actor: 'settings', code: 'state-damaged' });
    expect(() => openBackup(other, sealBackup(sealer, backup), IDENTITY)).toThrow(refused);
  });

  test('is of use unchanged only, wherever it was changed', () => {
    const text = sealBackup(sealer, backup);
    const places = [...Array(20).keys()].map((part) => Math.floor((text.length * (part + 0.5)) / 20));
    for (const place of places) {
      const changed = `${text.slice(0, place)}${text[place] === 'A' ? 'B' : 'A'}${text.slice(place + 1)}`;
      expect(() => openBackup(sealer, changed, IDENTITY), `changed at ${place}`).toThrow();
    }
    expect(() => openBackup(sealer, text.slice(0, -8), IDENTITY)).toThrow();
  });

  test('does not accept another encrypted text of the tenant', () => {
    const text = sealer.seal(JSON.stringify(backup), 'outbox/doctor/1');
    expect(() => openBackup(sealer, text, IDENTITY)).toThrow(expect.objectContaining({ code: 'state-damaged' }));
  });

  test('can be decrypted after a newer encryption key was added, but not after its own key was removed', () => {
    const text = sealBackup(sealer, backup);
    const newer = { id: 'k2', key: Buffer.alloc(32, 3) };
    expect(openBackup(createSealer([newer, ...RING], 'studio'), text, IDENTITY)).toEqual(backup);
    expect(() => openBackup(createSealer([newer], 'studio'), text, IDENTITY)).toThrow(
      expect.objectContaining({ code: 'sealing-key-unknown' }),
    );
  });

  test('of another identity key is refused, since its tombstones would match no patient', () => {
    const other = identityFingerprint(Buffer.alloc(32, 8));
    expect(() => openBackup(sealer, sealBackup(sealer, backup), other)).toThrow(
      expect.objectContaining({ actor: 'settings', code: 'identity-key-changed' }),
    );
  });
});
