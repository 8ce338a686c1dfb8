import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeRelease, NAMESPACE, SUMS } from '../../tools/release-files.ts';

const root = join(import.meta.dirname, '../..');
/** As docs/releasing.md has it. */
const VERIFY = `ssh-keygen -Y verify -f ../clinic-mirror.signers -I release -n ${NAMESPACE} -s ${SUMS}.sig < ${SUMS} && sha256sum --check --strict ${SUMS}`;

let place: string;
let folder: string;

/** A key that is thrown away. */
function newKey(name: string): string {
  const file = join(place, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file]);
  return file;
}

const verify = () => promisify(execFile)('sh', ['-c', VERIFY], { cwd: folder });

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'clinic-mirror-release-'));
  folder = join(place, 'files');
  const key = newKey('maintainer');
  const [kind, text] = readFileSync(`${key}.pub`, 'utf8').split(' ');
  writeFileSync(join(place, 'clinic-mirror.signers'), `release namespaces="${NAMESPACE}" ${kind} ${text}\n`);
  await makeRelease({ root, version: '0.0.0', folder, key });
});

afterAll(() => rmSync(place, { recursive: true }));

describe('the files of a release', () => {
  test('are source, image listing and bill of materials, with sums and a signature, which the documented command finds good', async () => {
    expect(readdirSync(folder).toSorted()).toEqual([
      SUMS,
      `${SUMS}.sig`,
      'clinic-mirror-0.0.0.cdx.json',
      'clinic-mirror-0.0.0.sha256',
      'clinic-mirror-0.0.0.tar',
    ]);
    const { stdout } = await verify();
    expect(stdout).toContain(`Good "${NAMESPACE}" signature for release`);
    expect(stdout.match(/: OK$/gm)).toHaveLength(3);
    expect(readFileSync(join(root, 'docs/releasing.md'), 'utf8').replaceAll(/ \\\n\s*/g, ' ')).toContain(VERIFY);
  });

  test.each(['clinic-mirror-0.0.0.tar', 'clinic-mirror-0.0.0.cdx.json', SUMS])(
    'that were changed are found out: %s',
    async (file) => {
      const before = readFileSync(join(folder, file));
      appendFileSync(join(folder, file), '\n');
      await expect(verify()).rejects.toMatchObject({ code: expect.any(Number) });
      writeFileSync(join(folder, file), before);
      await verify();
    },
  );

  test('that another key signed are found out, and a signature for something else too', async () => {
    const before = readFileSync(join(folder, `${SUMS}.sig`));
    for (const [key, purpose] of [
      [newKey('stranger'), NAMESPACE],
      [join(place, 'maintainer'), 'git'],
    ] as const) {
      rmSync(join(folder, `${SUMS}.sig`));
      execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', purpose, join(folder, SUMS)]);
      await expect(verify()).rejects.toMatchObject({ code: 255 });
    }
    writeFileSync(join(folder, `${SUMS}.sig`), before);
  });

  test('are byte-identical for the same commit, and require an empty folder', async () => {
    const again = join(place, 'again');
    await makeRelease({ root, version: '0.0.0', folder: again, key: join(place, 'maintainer') });
    expect(readFileSync(join(again, SUMS), 'utf8')).toBe(readFileSync(join(folder, SUMS), 'utf8'));
    await expect(makeRelease({ root, version: '0.0.0', folder: again, key: 'none' })).rejects.toThrow('is not empty');
  });
});
