import { describe, expect, test } from 'vitest';
import { baseAddress, isAcceptableAddress, settingsSchema } from '../../../src/connectors/caldav/schemas.ts';

test.each([
  ['https://dav.example.com/', true],
  ['http://127.0.0.1:5232/', true],
  ['http://[::1]/', true],
  ['http://localhost/', true],
  ['http://radicale:5232/', true],
  ['http://dav.example.com/', false],
  ['http://192.168.1.2/', false],
  ['http://[fe80::1]/', false],
  ['https://user@dav.example.com/', false],
  ['https://:secret@dav.example.com/', false],
  ['dav.example.com', false],
])('credentials may be sent to %s: %s', (address, expected) => {
  expect(isAcceptableAddress(address)).toBe(expected);
});

describe('the settings of a target', () => {
  const create = 'Clinic';
  const baseOf = (settings: object) => String(baseAddress(settingsSchema.parse(settings)));

  test('need a server only where the calendar home is to be found', () => {
    const found = settingsSchema.safeParse({ calendar: { home: 'discover', create } });
    expect(found.error?.issues).toMatchObject([
      { path: ['server'], message: expect.stringContaining('caldav.server-needed') },
    ]);
    expect(settingsSchema.safeParse({ calendar: { home: 'https://dav.example.com/anna/', create } }).success).toBe(
      true,
    );
  });

  test('bind a target to the site of the server; without one, to that of the calendar or its home', () => {
    const calendar = { url: 'https://dav.example.com/anna/work/' };
    expect(baseOf({ server: 'https://caldav.icloud.com', calendar })).toBe('https://caldav.icloud.com/');
    expect(baseOf({ calendar })).toBe(calendar.url);
    expect(baseOf({ calendar: { home: 'https://dav.example.com/anna/', create } })).toBe(
      'https://dav.example.com/anna/',
    );
  });

  test('refuse a URL that must not receive credentials, and a calendar without a name', () => {
    expect(settingsSchema.safeParse({ calendar: { url: 'http://dav.example.com/' } }).success).toBe(false);
    const home = 'https://dav.example.com/';
    expect(settingsSchema.safeParse({ calendar: { home, create: '  ' } }).success).toBe(false);
  });
});
