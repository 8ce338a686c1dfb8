import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

const SOURCE = new URL('../../../../src/', import.meta.url);

/** Words that are the same in both languages. */
const SAME = new Set([
  'Agenda',
  'Account',
  'Browser',
  'Record',
  'Plan',
  'clinic-mirror',
  'no',
  'OK',
  '2 OK',
  'Redis',
  'Id',
  'In',
]);

const files = ['operator/http-server/pages/texts/', 'operator/documents/texts/'].flatMap((folder) =>
  readdirSync(new URL(folder, SOURCE)).flatMap((name) => (name === 'texts.ts' ? [] : [folder + name])),
);

test.each(files)('%s says the same things in Italian and in English', async (file) => {
  const texts: unknown[] = Object.values(await import(new URL(file, SOURCE).href));
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) {
    const { en, it, ...others } = text as Record<string, Record<string, unknown>>;
    expect(others).toEqual({});
    expect(Object.keys(it ?? {}).sort()).toEqual(Object.keys(en ?? {}).sort());
    for (const [key, english] of Object.entries(en ?? {})) {
      const [one, other] = [said(english), said(it?.[key])];
      expect(one, key).toMatch(/\S/);
      expect(other, key).toMatch(/\S/);
      if (!SAME.has(one)) expect(other, `${key} is not translated`).not.toBe(one);
    }
  }
});

/** What a text says of two things. */
function said(text: unknown): string {
  return typeof text === 'function' ? String(text('2', '2', '2')) : String(text);
}
