import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { releasesIn, versionFaults, versionSources } from '../../tools/release-version.ts';

const CHANGELOG = `# Changelog

## [0.10.0] – unreleased

### Added

- Ten.

## [0.9.1] – 2026-11-01

- Nine and one.
`;

test('the changelog, package.json and package-lock.json name one version', () => {
  expect(versionFaults(versionSources(join(import.meta.dirname, '../..')))).toEqual([]);
});

test('a changelog is read version by version, with the day and the notes of each', () => {
  expect(releasesIn(CHANGELOG)).toEqual([
    { version: '0.10.0', day: null, notes: '### Added\n\n- Ten.' },
    { version: '0.9.1', day: '2026-11-01', notes: '- Nine and one.' },
  ]);
});

describe('a reported fault:', () => {
  const sources = { changelog: CHANGELOG, manifest: '0.10.0', lock: '0.10.0' };

  test('none when all agree', () => {
    expect(versionFaults(sources)).toEqual([]);
  });

  test.each([
    ['package.json of another version', { manifest: '0.9.1' }, 'package.json says 0.9.1'],
    ['a lock file of another version', { lock: '0.11.0' }, 'package-lock.json says 0.11.0'],
    ['nothing at all', { changelog: '# Changelog\n' }, 'has no version'],
    [
      'an older version that is unreleased',
      { changelog: CHANGELOG.replace('2026-11-01', 'unreleased') },
      '0.9.1 is unreleased',
    ],
    [
      'versions that do not rise',
      { changelog: CHANGELOG.replace('0.9.1', '0.10.0') },
      '0.10.0 follows a version that is not newer',
    ],
  ])('%s', (_, change, fault) => {
    expect(versionFaults({ ...sources, ...change })).toEqual([expect.stringContaining(fault)]);
  });

  test('throws for a heading in another form', () => {
    expect(() => releasesIn(CHANGELOG.replace('## [0.9.1] –', '## 0.9.1'))).toThrow('"## 0.9.1 2026-11-01"');
  });
});
