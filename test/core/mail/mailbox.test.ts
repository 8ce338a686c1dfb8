import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mailboxOf, needsUtf8 } from '../../../src/core/mail/mailbox.ts';

describe('an address of the clinic', () => {
  test.each([
    [' anna@example.org ', 'anna@example.org'],
    ["o'neill+studio@Example.ORG", "o'neill+studio@example.org"],
    ['anna@bücher.example', 'anna@xn--bcher-kva.example'],
    ['anna@città.it', 'anna@xn--citt-3na.it'],
    ['анна@пример.испытание', 'анна@xn--e1afmkfd.xn--80akhbyknj4f'],
    ['jose\u0301@example.org', 'jos\u00e9@example.org'],
  ])('%j is usable', (written, mailbox) => expect(mailboxOf(written)).toBe(mailbox));

  test.each([
    ...['a@example.org, b@example.org', 'a@example.org;b@example.org', 'Mario <m@example.org>', 'a b@example.org'],
    ...['anna', '@example.org', 'anna@', 'anna@x', 'anna@@example.org', 'a@b@example.org', 'anna@example..org'],
    ...['anna.@example.org', 'anna@-x.org', 'anna@127.0.0.1', 'anna@[127.0.0.1]', 'anna@ex_ample.org'],
    ...[
      'a\r\nBcc: b@example.org',
      'a\u200b@example.org',
      'a\u00a0@example.org',
      '"a"@example.org',
      `${'a'.repeat(65)}@x.org`,
    ],
  ])('%j is not', (written) => expect(mailboxOf(written)).toBeNull());

  test('never has what could end a command or name a second recipient', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 20 }),
        fc.constantFrom('@x.org', '@ü.org', ''),
        (local, domain) => {
          const mailbox = mailboxOf(local + domain);
          if (mailbox !== null) expect(mailbox).toMatch(/^[^\s<>,;:"()[\]\\@]+@[a-z0-9.-]+$/);
        },
      ),
    );
  });

  test('needs SMTPUTF8 only for its local part', () => {
    expect([needsUtf8('anna@xn--bcher-kva.example'), needsUtf8('jos\u00e9@example.org')]).toEqual([false, true]);
  });
});
