import { describe, expect, test } from 'vitest';
import { settingsSchema } from '../../../src/connectors/google-calendar/schemas.ts';

describe('the settings of a Google target', () => {
  test('name a calendar or one to create; the URL is known', () => {
    expect(settingsSchema.parse({ calendar: { id: 'primary' } })).toEqual({
      calendar: { id: 'primary' },
      rootUrl: 'https://www.googleapis.com',
    });
    const own = { calendar: { create: 'Appointments' }, rootUrl: 'http://127.0.0.1:8080/' };
    expect(settingsSchema.parse(own)).toEqual({ ...own, rootUrl: 'http://127.0.0.1:8080' });
  });

  test.each([
    {},
    { calendar: 'primary' },
    { calendar: {} },
    { calendar: { id: '' } },
    { calendar: { id: 'a', create: 'b' } },
    { calendar: { id: 'a', colour: 'red' } },
    { calendar: { id: 'a' }, colour: 'red' },
    { calendar: { id: 'a' }, rootUrl: 'file:///etc' },
    { calendar: { id: 'a' }, rootUrl: 'www.googleapis.com' },
  ])('refuse %o', (settings) => {
    expect(settingsSchema.safeParse(settings).success).toBe(false);
  });
});
