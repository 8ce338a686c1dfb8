import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Instant } from '../model/time.ts';

/** A key that proves who an application is, with what the provider knows it by. */
export interface Certificate {
  key: KeyObject;
  /** SHA-1 of the certificate, base64url: how Microsoft finds it among those registered. */
  thumbprint: string;
  /** From when to when it counts. */
  beganAt: Instant;
  endsAt: Instant;
}

/** Reads one PEM with a private RSA key and its certificate; null when it is not that. */
export function readCertificate(pem: string): Certificate | null {
  try {
    const key = createPrivateKey(pem);
    const certificate = new X509Certificate(pem);
    if (key.asymmetricKeyType !== 'rsa' || !certificate.checkPrivateKey(key)) return null;
    const thumbprint = Buffer.from(certificate.fingerprint.replaceAll(':', ''), 'hex').toString('base64url');
    const [beganAt, endsAt] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
    return { key, thumbprint, beganAt, endsAt };
  } catch {
    // What was thrown may quote the key.
    return null;
  }
}
