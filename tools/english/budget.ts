/** Compares the measured English with its budget. A budget may only fall. */
import type { Idiom } from './idioms.ts';

/** The English of one folder, or of one page. */
export interface Measure {
  words: number;
  idioms: Idiom[];
  pronouns: number;
}

/** Limits for idioms of each folder, and for pronouns of documents. */
export interface Budget {
  /** At most so many idioms in 100 words, by folder. A folder without a limit has {@link Budget.usual}. */
  idioms: Readonly<Record<string, number>>;
  usual: number;
  /** At most so many percent of the words of a page are pronouns. */
  pronounsOfPage: number;
  /** A higher limit for pages that are not rewritten yet, by path. */
  pages: Readonly<Record<string, number>>;
  /** At most so many percent, all documents together. */
  pronounsOfAll: number;
}

/** A folder with fewer words than this has no share worth a limit; its idioms are counted with a floor of words. */
const LEAST_WORDS = 500;
/** A budget may be this much above the measure before it must fall. */
const SLACK = 0.1;

/** Returns idioms in 100 words, rounded up to two places. */
export function idiomsPer100({ words, idioms }: Measure): number {
  return Math.ceil((10_000 * idioms.length) / Math.max(words, LEAST_WORDS)) / 100;
}

/** Returns pronouns and words without a noun in percent. */
export function pronounPercent({ words, pronouns }: Measure): number {
  return words === 0 ? 0 : (100 * pronouns) / words;
}

/** Returns one line for each limit that is exceeded, and for each limit that must fall. */
export function budgetFaults(
  folders: ReadonlyMap<string, Measure>,
  pages: ReadonlyMap<string, Measure>,
  budget: Budget,
): string[] {
  const faults: string[] = [];
  for (const [folder, measure] of folders) {
    const [now, most] = [idiomsPer100(measure), budget.idioms[folder] ?? budget.usual];
    if (now > most) {
      faults.push(`${folder}: ${now} idioms in 100 words, at most ${most} allowed`);
      faults.push(...measure.idioms.map(({ path, line, message }) => `  ${path}:${line}: ${message}`));
    }
    if (folder in budget.idioms && now < most - SLACK) {
      faults.push(`${folder}: ${now} idioms in 100 words: lower the budget of ${most} in tools/english/budget.json`);
    }
  }
  for (const folder of Object.keys(budget.idioms)) {
    if (!folders.has(folder)) faults.push(`${folder}: no such folder: delete its budget in tools/english/budget.json`);
  }
  for (const [path, measure] of pages) {
    const percent = pronounPercent(measure);
    const most = budget.pages[path] ?? budget.pronounsOfPage;
    if (percent > most)
      faults.push(`${path}: ${percent.toFixed(1)} % pronouns, at most ${most} % allowed: name the noun`);
    if (path in budget.pages && percent <= budget.pronounsOfPage) {
      faults.push(`${path}: ${percent.toFixed(1)} % pronouns: delete its limit in tools/english/budget.json`);
    }
  }
  const all = [...pages.values()];
  const mean = pronounPercent({
    words: all.reduce((sum, { words }) => sum + words, 0),
    pronouns: all.reduce((sum, { pronouns }) => sum + pronouns, 0),
    idioms: [],
  });
  if (mean > budget.pronounsOfAll) {
    faults.push(`all documents: ${mean.toFixed(1)} % pronouns, at most ${budget.pronounsOfAll} % allowed`);
  }
  return faults;
}
