import { describe, expect, test } from 'vitest';
import { isUserPage, lineOfShape, openingFault, shapeOfPage, sumOfShapes } from '../../../tools/english/pages.ts';

const EXAMPLE = '```sh\nclinic-mirror status   # you, your | cells |\n```\n';
const TABLE = '| word | meaning |\n|---|---|\n| a hold | Two words. |\n';
const shape = (markdown: string) => shapeOfPage('docs/a.md', markdown);

describe('the opening of a page', () => {
  test.each(['This page', 'This reference', 'This tour', 'this page'])('must not be "%s"', (words) => {
    expect(openingFault('docs/a.md', `# Title\n\n${words} lists every setting.\n`)).toBe(
      `docs/a.md: begins with "${words}": begin with what the reader gets or does, and address the reader as "you"`,
    );
  });

  test('is found behind pictures, tables and examples', () => {
    expect(openingFault('a.md', `# Title\n\n![a](b.png)\n\n${EXAMPLE}\n${TABLE}\nThis page shows…`)).not.toBeNull();
  });

  test('may name the page later, or begin with what the reader does', () => {
    expect(openingFault('a.md', '# This page\n\nYou choose.\n\nThis page ends here.')).toBeNull();
    expect(openingFault('a.md', '# Title\n\nThis pageant lasts.')).toBeNull();
    expect(openingFault('a.md', '')).toBeNull();
  });
});

describe('the shape of a page', () => {
  test('has the words of tables, without code and lines between head and body', () => {
    expect(shape(`# Title\n\nFive words are in here.\n\n${TABLE}`)).toMatchObject({ words: 12, wordsInTables: 6 });
    expect(shape(EXAMPLE)).toMatchObject({ words: 0, wordsInTables: 0, pagesWithTable: 0 });
  });

  test('has its examples, pictures and words for the reader', () => {
    const text = `You read your status, not a yourt.\n\n1. Run:\n\n   ${EXAMPLE.replaceAll('\n', '\n   ')}\n![a](b.png)`;
    expect(shape(text)).toMatchObject({ examples: 1, pictures: 1, you: 2 });
  });

  test('shows whether an example is before the first table', () => {
    const first = (markdown: string) => shape(markdown).pagesWithExampleFirst;
    expect([first(EXAMPLE + TABLE), first(TABLE + EXAMPLE), first(TABLE), first(EXAMPLE)]).toEqual([1, 0, 0, 0]);
  });

  test('has no parts that the program writes', () => {
    const generated = `<!-- reference: terms -->\n\n${TABLE}\n<!-- end -->\n`;
    expect(shape(`Two words.\n\n${generated}`)).toEqual(shape('Two words.\n\n'));
  });

  test('counts sentences that begin with the same word as the one before', () => {
    const text = [
      'The daemon waits 0.5 s. The daemon retries; see `a.b`. You wait.',
      '- You approve.\n- `sync` runs.\n  `sync` ends.',
      '# You\n\n| You |\n|---|\n\nAn example. Each ends.',
    ];
    expect(shape(text.join('\n\n'))).toMatchObject({ pairs: 7, samePairs: 3 });
  });
});

test('pages for users are those that people write', () => {
  expect(['README.md', 'docs/holds.md', 'docs/connect/google.md'].filter(isUserPage).length).toBe(3);
  expect(['docs/commands.md', 'docs/clinic-api.md', 'src/a/README.md', 'docs/a.svg'].filter(isUserPage)).toEqual([]);
});

describe('the line of the report', () => {
  test('of a page has shares and counts in 1,000 words', () => {
    const line = lineOfShape('docs/a.md', shape(`You run this:\n\n${EXAMPLE}\n${TABLE}`)).replaceAll(/\s+/g, ' ');
    expect(line).toBe(
      'docs/a.md words 9 tables 67 % examples 111.1 pictures 0 you 111.1 same beginning 0 % example first',
    );
    expect(lineOfShape('docs/a.md', shape(TABLE + EXAMPLE))).toContain('table first');
    expect(lineOfShape('docs/a.md', shape(''))).toContain('no table');
  });

  test('of all pages has the number of pages above the limit', () => {
    const all = sumOfShapes([shape(TABLE), shape(EXAMPLE + TABLE), shape('You wait.')]);
    expect(all).toMatchObject({ words: 14, wordsInTables: 12, pages: 3, you: 1 });
    expect(lineOfShape('all', all)).toContain('example first 1 of 2 with a table  above 25 % tables 2 of 3');
  });
});
