import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder that goes with the test. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'clinic-mirror-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}
