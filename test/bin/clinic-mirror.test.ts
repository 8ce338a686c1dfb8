import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const BIN = join(import.meta.dirname, '../../bin');

test.each([
  { files: ['src/cli.ts', 'dist/cli.js'], loaded: 'src/cli.ts' },
  { files: ['dist/cli.js'], loaded: 'dist/cli.js' },
])('loads $loaded in a folder with $files', ({ files, loaded }) => {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-bin-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(BIN, join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const file of files) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), `console.log('${file}');\n`);
  }
  const output = execFileSync(process.execPath, [join(folder, 'bin/clinic-mirror.js')], { encoding: 'utf8' });
  expect(output).toBe(`${loaded}\n`);
});
