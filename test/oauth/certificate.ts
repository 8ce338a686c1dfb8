import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A self-signed certificate with its key, as an operator registers one with an application. */
export interface TestCertificate {
  /** Key and certificate in one PEM text. */
  pem: string;
  certificatePem: string;
  keyPem: string;
  publicKey: KeyObject;
  /** SHA-1 of the certificate, base64url. */
  thumbprint: string;
}

/** Makes a certificate anew, so that no key need be kept in the sources. */
export function makeCertificate(): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const algorithm = sequence(Buffer.from('06092a864886f70d01010b', 'hex'), element(0x05));
  const commonName = sequence(Buffer.from('0603550403', 'hex'), element(0x0c, Buffer.from('clinic-mirror')));
  const subject = sequence(element(0x31, commonName));
  const validity = sequence(utcTime('260101000000Z'), utcTime('491231235959Z'));
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const serial = element(0x02, Buffer.from([1]));
  const toBeSigned = sequence(serial, algorithm, subject, validity, subject, key);
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign('RSA-SHA256', toBeSigned, privateKey)]));
  const der = sequence(toBeSigned, algorithm, signature);
  const certificatePem = toPem(der);
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    pem: `${keyPem}${certificatePem}`,
    certificatePem,
    keyPem,
    publicKey,
    thumbprint: createHash('sha1').update(der).digest('base64url'),
  };
}

/** A DER element (X.690): tag, length, content. */
function element(tag: number, content: Buffer = Buffer.alloc(0)): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts));
}

function utcTime(text: string): Buffer {
  return element(0x17, Buffer.from(text));
}

function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
