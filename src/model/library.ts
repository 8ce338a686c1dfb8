import { createRequire } from 'node:module';
import { lazily } from './lazily.ts';

const load = createRequire(import.meta.url);

/**
 * A package that is loaded when it is first needed: for large ones that many installations never need, used where nothing can be waited for.
 * Where something can, `import()` does it.
 */
export function library<Library>(name: string): () => Library {
  return lazily(() => load(name) as Library);
}
