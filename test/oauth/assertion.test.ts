import { verify, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import { readCertificate, signAssertion } from '../../src/oauth/assertion.ts';

const NOW = Date.parse('2026-06-15T08:00:00.900Z');
const [own, other] = [createCertificate(), createCertificate()];

describe('a PEM with a key and its certificate', () => {
  test('is read in either order, with the SHA-1 thumbprint and the time in which it counts', () => {
    const { fingerprint, validFromDate, validToDate } = new X509Certificate(own.certificate);
    for (const pem of [own.privateKey + own.certificate, own.certificate + own.privateKey]) {
      const read = readCertificate(pem);
      expect(Buffer.from(read?.thumbprint ?? '', 'base64url').toString('hex')).toBe(
        fingerprint.replaceAll(':', '').toLowerCase(),
      );
      expect(read).toMatchObject({ beganAt: validFromDate.getTime(), endsAt: validToDate.getTime() });
    }
  });

  test.each([
    ['without a certificate', own.privateKey],
    ['without a key', own.certificate],
    ['with the certificate of another key', own.privateKey + other.certificate],
    ['that is none', 'no PEM'],
  ])('%s is refused', (_, pem) => {
    expect(readCertificate(pem)).toBeNull();
  });
});

describe('a signed assertion', () => {
  const { key } = readCertificate(own.privateKey + own.certificate) ?? {};
  if (key === undefined) throw new Error('the certificate is not readable');
  const claims = { iss: 'app-1', aud: 'https://login.example' };
  const partsOf = (assertion: string) => assertion.split('.').map((part) => Buffer.from(part, 'base64url'));

  test('is dated in whole seconds, lives for its time, and its signature is of the key', () => {
    const assertion = signAssertion({ key, claims, lifeMs: 300_000 }, NOW);
    const [header, payload, signature] = partsOf(assertion);
    expect(JSON.parse(String(header))).toEqual({ alg: 'RS256', typ: 'JWT' });
    const issuedAt = Date.parse('2026-06-15T08:00:00Z') / 1_000;
    expect(JSON.parse(String(payload))).toEqual({ ...claims, iat: issuedAt, exp: issuedAt + 300 });
    const signed = Buffer.from(assertion.slice(0, assertion.lastIndexOf('.')));
    const isSignedBy = (certificate: string) =>
      verify('RSA-SHA256', signed, new X509Certificate(certificate).publicKey, signature ?? Buffer.of());
    expect([own.certificate, other.certificate].map(isSignedBy)).toEqual([true, false]);
  });

  test('names its key where the provider knows it by an id', () => {
    const [header] = partsOf(signAssertion({ key, keyId: 'k1', claims, lifeMs: 1_000 }, NOW));
    expect(JSON.parse(String(header))).toMatchObject({ kid: 'k1' });
  });
});
