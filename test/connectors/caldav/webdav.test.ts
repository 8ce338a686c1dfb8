import { describe, expect, test } from 'vitest';
import { isAcceptableAddress, settingsSchema } from '../../../src/connectors/caldav/schemas.ts';
import { comparablePath, isMember, isSameSite, resolveHref } from '../../../src/connectors/caldav/webdav.ts';

describe('URLs that may receive credentials', () => {
  test.each([
    ['https://caldav.example.com/', 'https://p01-caldav.example.com:443/x/', true],
    ['https://caldav.example.com/', 'https://caldav.example.com/x/', true],
    ['http://localhost:5232/', 'http://localhost:5232/x/', true],
    ['http://calendars/', 'https://calendars/x/', true],
    ['https://caldav.example.com/', 'http://caldav.example.com/', false],
    ['https://caldav.example.com/', 'https://caldav.example.com:8443/', false],
    ['https://caldav.example.com/', 'https://example.org/', false],
    ['https://one.co.uk/', 'https://two.co.uk/', false],
    ['https://dav.one.co.uk/', 'https://one.co.uk/', true],
    ['https://192.0.2.1/', 'https://193.0.2.1/', false],
    ['https://example.com.attacker.net/', 'https://example.com/', false],
  ])('%s to %s: %s', (from, to, allowed) => {
    expect(isSameSite(new URL(from), new URL(to))).toBe(allowed);
  });

  test.each([
    ['https://cloud.example.com/dav/', true],
    ['http://127.0.0.1:5232/', true],
    ['http://radicale:5232/', true],
    ['http://[::1]:5232/', true],
    ['http://cloud.example.com/dav/', false],
    ['https://user:secret@cloud.example.com/', false],
    ['ftp://radicale/', false],
  ])('is acceptable in settings: %s %s', (address, accepted) => {
    expect(isAcceptableAddress(address) && /^https?:/.test(address)).toBe(accepted);
    expect(settingsSchema.safeParse({ calendar: { url: address } }).success).toBe(accepted);
  });
});

describe('settings', () => {
  test.each([
    [{ calendar: { home: 'discover', create: 'Clinic' }, server: 'https://example.com' }, true],
    [{ calendar: { home: 'https://example.com/dav/me/', create: 'Clinic' } }, true],
    [{ calendar: { home: 'discover', create: 'Clinic' } }, false],
    [{ calendar: { home: 'discover', create: ' ' }, server: 'https://example.com' }, false],
    [{ calendar: { url: 'https://example.com/', name: 'x' } }, false],
    [{ calendar: { url: 'https://example.com/' }, password: 'x' }, false],
    [{}, false],
  ])('%j: %s', (settings, accepted) => {
    expect(settingsSchema.safeParse(settings).success).toBe(accepted);
  });
});

describe('hrefs', () => {
  const asked = new URL('https://cloud.example.com/dav/me%40home/cal/');

  test.each([
    '/dav/me@home/cal/a.ics',
    '/dav/me%40home/cal/a.ics',
    'https://cloud.example.com/dav/me%40home/cal/a.ics',
    'http://cloud.internal:8080/dav/me%40home//cal/a.ics',
    'http://cloud.internal:8080//dav/me%40home/cal/a.ics',
    'a.ics',
    '\n  /dav/me%40home/cal/a.ics  ',
  ])('compare equal in every spelling: %j', (href) => {
    const url = resolveHref(asked, href)!;
    expect(comparablePath(url)).toBe('/dav/me@home/cal/a.ics');
    expect(url.host).toBe('cloud.example.com');
    expect(isMember(asked, url)).toBe(true);
  });

  test('keep to the members of the collection', () => {
    for (const href of ['/dav/me@home/cal/', '/dav/me@home/cal', '/dav/me@home/other/a.ics', 'sub/a.ics', '../a.ics']) {
      expect(isMember(asked, resolveHref(asked, href)!)).toBe(false);
    }
  });

  test.each([
    ['relative, to a long path', new URL(`https://cloud.example.com/${'b'.repeat(2_000)}/`), 'c'.repeat(30)],
    ['longer than the limit', asked, `/${'c'.repeat(2_048)}`],
    ['longer with escapes', asked, `/${'é'.repeat(400)}`],
    ['on another site', asked, `https://inner.example/${'é'.repeat(400)}`],
  ])('whose URL is too long are no URL: %s', (_, from, href) => {
    expect(resolveHref(from, href)).toBeNull();
    expect(resolveHref(from, href.slice(0, 10))).not.toBeNull();
  });

  test('a name with a broken escape is compared as it stands', () => {
    expect(comparablePath(new URL('https://example.com/a%zz/'))).toBe('/a%zz');
  });
});
