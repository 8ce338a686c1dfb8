import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A self-signed certificate and its key, both PEM. */
export interface CertificateWithKey {
  certificate: string;
  /** PKCS #8. */
  privateKey: string;
  /** SHA-256 of the certificate, base64url: the header `x5t#S256` (RFC 7515 section 4.1.8). */
  thumbprint: string;
}

const SHA256_WITH_RSA = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const COMMON_NAME = [0x55, 0x04, 0x03];

/**
 * Makes a certificate (RFC 5280 section 4.1) that is valid from 2000 to 2049, because OpenSSL uses the host's clock, which differs from the
 * clock of tests. Node can read certificates but not make them.
 */
export function createCertificate(commonName = 'sandbox'): CertificateWithKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const algorithm = der(0x30, der(0x06, Buffer.from(SHA256_WITH_RSA)), der(0x05));
  const attribute = der(0x30, der(0x06, Buffer.from(COMMON_NAME)), der(0x0c, Buffer.from(commonName)));
  const name = der(0x30, der(0x31, attribute));
  const serial = Buffer.concat([Buffer.of(1), randomBytes(8)]);
  const toBeSigned = der(
    0x30,
    der(0x02, serial),
    algorithm,
    name,
    der(0x30, utcTime(Date.UTC(2000, 0)), utcTime(Date.UTC(2049, 11, 31))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = sign('RSA-SHA256', toBeSigned, privateKey);
  const certificate = der(0x30, toBeSigned, algorithm, der(0x03, Buffer.of(0), signature));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    thumbprint: createHash('sha256').update(certificate).digest('base64url'),
  };
}

/** One value in DER (X.690): tag, length, content. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function utcTime(epochMs: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(epochMs).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
}
