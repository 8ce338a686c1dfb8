import { domainToASCII } from 'node:url';

/** A dot-atom of ASCII (RFC 5321 section 4.1.2) or other letters (RFC 6531 section 3.3). No name, list, route or quotes: no header injection. */
const LOCAL_PART =
  /^(?=.{1,64}$)[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+(\.[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+)*$/u;
const INVISIBLE = /[\p{Z}\p{C}]/u;
/** Labels of letters, digits and inner hyphens (RFC 1123 section 2.1), with a top-level label that is no number. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/;
/** RFC 5321 section 4.5.3.1.3, without angle brackets. */
const LONGEST = 254;

/** Code of a mail whose recipient the server cannot take. @see RFC 6531 section 3.2 */
export const UTF8_MISSING = 'ENOUTF8';

/**
 * Returns one e-mail address as a mail server takes it: the domain in punycode (RFC 5891, RFC 3492), the local part unchanged.
 * @returns null for text that is not exactly one mailbox (RFC 5321 section 4.1.2)
 */
export function mailboxOf(written: string): string | null {
  const address = written.trim().normalize('NFC');
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(at, 0));
  if (!LOCAL_PART.test(local) || INVISIBLE.test(address)) return null;
  const domain = domainToASCII(address.slice(at + 1));
  const mailbox = `${local}@${domain}`;
  return DOMAIN.test(domain) && Buffer.byteLength(mailbox) <= LONGEST ? mailbox : null;
}

/** Returns whether a mail server must support `SMTPUTF8` for a mailbox. @see RFC 6531 section 3.2 */
export function needsUtf8(mailbox: string): boolean {
  return Buffer.byteLength(mailbox) !== mailbox.length;
}
