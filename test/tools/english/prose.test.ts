import { describe, expect, test } from 'vitest';
import { proseOfDocument, proseOfOther, proseOfSource } from '../../../tools/english/prose.ts';

const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

describe('the English of a document', () => {
  test('has no code, link targets or HTML, and as many lines as the document', () => {
    const markdown = 'Run `npm test`, see [the guide](docs/guide.md).\n\n```sh\nwhoever\n```\n<!-- a note -->\nEnd.';
    const { text } = proseOfDocument('a.md', markdown);
    expect(inOneLine(text)).toBe('Run , see [the guide]( ). End.');
    expect(text.split('\n').length).toBe(markdown.split('\n').length);
  });

  test('includes the prose between two fenced blocks, and the code of neither', () => {
    const markdown = 'One.\n\n```sh\nfirst\n```\n\nTwo.\n\n- Item:\n\n  ```sh\n  second\n  ```\n\nThree.';
    expect(inOneLine(proseOfDocument('a.md', markdown).text)).toBe('One. Two. - Item: Three.');
  });
});

describe('the English of a source file', () => {
  const source = `import { join } from 'node:path of a file';
/** Returns the \`name\` of {@link Thing}. */
const key = 'state/targets' as string;
// biome-ignore lint/a: a reason in words
type Kind = 'a word of a type';
fail(\`the target \${key} is not there\`, 'two words');`;
  const [comments, texts] = proseOfSource('src/a.ts', source);

  test('has its comments, without code and directives of tools', () => {
    expect(inOneLine(comments?.text ?? '')).toBe('/** Returns the of . */');
  });

  test('has its texts of three words or more, but no imports, types and keys', () => {
    expect(inOneLine(texts?.text ?? '')).toBe('} is not there`');
  });

  test('keeps its line numbers', () => {
    expect(comments?.text.split('\n')[1]).toContain('Returns the');
  });

  test('counts a string inside a template once, and on its line', () => {
    const nested = `f(\`first part of a\n\${g('three words here')} second part of a\n end part of a\`);`;
    const [, found] = proseOfSource('src/a.ts', nested);
    expect(found?.text.split('\n').map(inOneLine)).toEqual([
      '`first part of a',
      `\${ 'three words here' } second part of a`,
      'end part of a`',
    ]);
  });

  test('cannot be taken from a file that is no TypeScript', () => {
    expect(() => proseOfSource('src/a.ts', 'const =')).toThrow('Cannot parse src/a.ts');
  });
});

describe('the English of another file', () => {
  test.each([
    [
      'a.yaml',
      'key: value # a comment\nurl: https://example.com/#part\nsummary: "An alert"',
      '# a comment',
      '"An alert"',
    ],
    ['deploy/a.json', '{ "a": 1,\n  "title": "Pending changes",\n "b": "#no" }', '', '"Pending changes",'],
    ['a.lua', "local a = 1 -- a comment\nlocal b = '# data'", '-- a comment', ''],
    ['a.css', 'a { color: #fff; } /* a\n comment */', '/* a comment */', ''],
    ['Dockerfile', '# Builds the image.\nRUN echo', '# Builds the image.', ''],
  ])('is in the comments and the fields that people read: %s', (path, content, comment, text) => {
    const found = proseOfOther(path, content);
    expect(found.map((each) => inOneLine(each.text))).toEqual([comment, text]);
    for (const each of found) expect(each.text.split('\n').length).toBe(content.split('\n').length);
  });
});
