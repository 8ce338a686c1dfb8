/** A record in `decisions/`: its file name and its text. */
export interface DecisionRecord {
  file: string;
  text: string;
}

/**
 * Renders the index of decision records, in the order of date and file name.
 * @throws Error for a record without date, title or status
 */
export function renderDecisions(records: readonly DecisionRecord[]): string {
  const rows = records
    .toSorted((one, other) => (one.file < other.file ? -1 : 1))
    .map(({ file, text }) => {
      const [, date] = /^(\d{4}-\d\d-\d\d)-.+\.md$/.exec(file) ?? [];
      const [, title, status] = /^# (.+)\n\nStatus: (.+)\n/.exec(text) ?? [];
      if (date === undefined || title === undefined || status === undefined)
        throw new Error(`decisions/${file} has no date in its name, or does not start with a title and a status`);
      return `| ${date} | [${title}](${file}) | ${status} |`;
    });
  return ['| date | decision | status |', '|---|---|---|', ...rows].join('\n');
}
