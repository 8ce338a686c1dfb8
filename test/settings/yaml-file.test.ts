import { describe, expect, test } from 'vitest';
import { faultLines, loadError, TENANT, writeConfiguration } from './configuration-directory.ts';

describe('faults', () => {
  test.each([
    ['a: [', 1, 'a quote, bracket or brace is not closed'],
    ['name: x\n\tlanguage: it', 2, 'a tab is used as indentation'],
    [TENANT.replace('    agendas', '\tagendas'), 12, 'a tab is used as indentation'],
    [TENANT.replace('    agendas', '  \tagendas'), 12, 'a tab is used as indentation'],
    [TENANT.replace('targets:', 'a stray line\ntargets:'), 8, 'a character is missing'],
    [TENANT.replace('    agendas', '    stray\n    agendas'), 12, 'a key extends over several lines'],
    [TENANT.replace('targets:', 'targets'), 8, 'a key extends over several lines'],
    [`${TENANT}stray\n`, 14, 'a character is missing'],
    [TENANT.replace('agendas: all', 'agendas: [all'), 12, 'a quote, bracket or brace is not closed'],
    ['name: x\nname: y', 2, 'the key occurs twice'],
    ['name: x\n---\nname: y', 2, 'the file contains several documents'],
    ['name: *nothing', 1, 'the alias has no anchor'],
    ['name: "unclosed\nlanguage: it', 1, 'a quote, bracket or brace is not closed'],
  ])('of malformed YAML are one, the first cause, with its line: %j', (content, line, cause) => {
    const { faults } = loadError(writeConfiguration({ 'tenants/uno.yaml': content }));
    expect(faults).toMatchObject([{ path: '', line, message: expect.stringContaining(`not valid YAML: ${cause}`) }]);
  });

  test('are aliases that would fill the memory', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
    );
    const dir = writeConfiguration({ 'tenants/uno.yaml': ['l0: &l0 x', ...levels].join('\n') });
    expect(faultLines(dir)).toEqual(['tenants/uno.yaml:- : the file has too many aliases → write the values in full']);
  });
});
