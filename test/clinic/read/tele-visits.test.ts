import { describe, expect, test } from 'vitest';
import { compileTeleVisit } from '../../../src/clinic/read/tele-visits.ts';

const ROSSI = { id: 'p1', firstName: 'Niccolò', lastName: 'De Rossi' };
const read = compileTeleVisit(['video.url', 'videoUrl']);
const of = (url: unknown) => read({ videoUrl: url }, ROSSI);

describe('the address of a video visit', () => {
  test('is taken as the row tells it, by the first path that holds one', () => {
    expect(read({ video: { url: ' https://visit.example/r/7?k=x#room ' } }, ROSSI)).toBe(
      'https://visit.example/r/7?k=x#room',
    );
    expect(read({ video: null, videoUrl: 'https://visit.example/r/7' }, null)).toBe('https://visit.example/r/7');
  });

  test('is none where nothing is told, or no path is named', () => {
    for (const nothing of [undefined, null, '', 7, { url: 'https://visit.example' }]) expect(of(nothing)).toBeNull();
    expect(compileTeleVisit([])({ videoUrl: 'https://visit.example/r/7' }, ROSSI)).toBeNull();
  });

  test.each([
    'http://visit.example/r/7',
    'javascript:alert(1)',
    'visit.example/r/7',
    'https://doctor:secret@visit.example/r/7',
    `https://visit.example/${'x'.repeat(500)}`,
  ])('is not taken where it is no plain https address: %s', (url) => {
    expect(of(url)).toBeNull();
  });

  test.each([
    'https://visit.example/de-rossi?name=Niccol%C3%B2',
    'https://visit.example/r/7?name=NICCOLO',
    'https://visit.example/r/7?name=De+Rossi',
    'https://visit.example/r/7?mail=n%40example.org',
    'https://visit.example/r/7#de%20rossi',
  ])('is not taken where it names the patient: %s', (url) => {
    expect(of(url)).toBeNull();
  });

  test('is taken where a short name stands in it by chance', () => {
    const patient = { id: 'p2', firstName: 'Jo', lastName: null };
    expect(read({ videoUrl: 'https://visit.example/join/7' }, patient)).toBe('https://visit.example/join/7');
  });
});
