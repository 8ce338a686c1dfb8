import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { issueText, message } from '../../src/messages/message.ts';
import { guessZone, zone } from '../../src/settings/common-schemas.ts';

describe('a zone that does not exist', () => {
  test.each([
    ['Europe/Milan', 'Europe/Rome'],
    ['Europe/Milano', 'Europe/Rome'],
    ['Milan', 'Europe/Rome'],
    ['Europe/Turin', 'Europe/Rome'],
    ['Europe/Florence', 'Europe/Rome'],
    ['Europe/Naples', 'Europe/Rome'],
    ['Europe/Parma', 'Europe/Rome'],
    ['Europe/Reggio_Emilia', 'Europe/Rome'],
    ["Europe/L'Aquila", 'Europe/Rome'],
    ['Europe/Roma', 'Europe/Rome'],
    ['Europe/Italy', 'Europe/Rome'],
    ['Italia', 'Europe/Rome'],
    ['Europe/Mailand', 'Europe/Rome'],
    ['Europe/Munich', 'Europe/Berlin'],
    ['Europe/München', 'Europe/Berlin'],
    ['Europe/Hamburg', 'Europe/Berlin'],
    ['Germany', 'Europe/Berlin'],
    ['Deutschland', 'Europe/Berlin'],
    ['Europe/Geneva', 'Europe/Zurich'],
    ['Europe/Zürich', 'Europe/Zurich'],
    ['Svizzera', 'Europe/Zurich'],
    ['Europe/Barcelona', 'Europe/Madrid'],
    ['Spain', 'Europe/Madrid'],
    ['Europe/Tenerife', 'Atlantic/Canary'],
    ['Europe/Manchester', 'Europe/London'],
    ['United Kingdom', 'Europe/London'],
    ['Europe/Lyon', 'Europe/Paris'],
    ['Europe/Łódź', 'Europe/Warsaw'],
    ['Europe/Romme', 'Europe/Rome'],
    ['America/NewYork', 'America/New_York'],
    ['Europe/Milann', 'Europe/Rome'],
    ['Europe/Xyzzy', null],
    ['', null],
  ])('%s is guessed as %s', (written, meant) => {
    expect(guessZone(written)).toBe(meant);
  });

  test.each([...'IT DE FR PT GB IE CH AT NL BE LU DK SE NO FI PL CZ SK HU SI HR GR RO BG MT SM VA MC LI'.split(' ')])(
    'that names the country %s is guessed as one of its zones',
    (country) => {
      const name = new Intl.DisplayNames('it', { type: 'region' }).of(country) ?? '';
      const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones(): string[] };
      expect(locale.getTimeZones()).toContain(guessZone(name));
    },
  );

  test.each([
    ['EST', 'America/New_York'],
    ['MST', 'America/Denver'],
    ['HST', 'Pacific/Honolulu'],
  ])('%s has no daylight saving time: it is refused with %s', (written, meant) => {
    const result = zone().safeParse(written);
    expect(result.error?.issues[0]?.message).toContain(meant);
    expect(zone().parse(meant)).toBe(meant);
  });

  test('is refused with the guess, by the schema', () => {
    const { error } = zone().safeParse('Europe/Milan');
    expect(error).toBeInstanceOf(z.ZodError);
    expect(error?.issues).toMatchObject([{ message: issueText(message('settings.guess', { guess: 'Europe/Rome' })) }]);
  });
});
