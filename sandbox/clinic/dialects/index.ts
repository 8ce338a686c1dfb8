import type { Zone } from '../data/zone.ts';
import { bare } from './bare.ts';
import type { Dialect, DialectName } from './dialect.ts';
import { documented } from './documented.ts';
import { hostile } from './hostile.ts';
import { numbers } from './numbers.ts';
import { pages } from './pages.ts';

export { DIALECT_NAMES, type Dialect, type DialectName } from './dialect.ts';

/** Makes a dialect; `zone` is that of times without offset. */
export function createDialect(name: DialectName, zone: Zone): Dialect {
  switch (name) {
    case 'documented':
      return documented();
    case 'bare':
      return bare(zone);
    case 'pages':
      return pages(zone);
    case 'hostile':
      return hostile();
    case 'numbers':
      return numbers(zone);
  }
}
