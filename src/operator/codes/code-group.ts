/** Responsibility, on the scale of pages, `status` and alerts; null for a code that only describes data. */
export type WhoActs = 'action required' | 'retrying' | 'ok' | null;

/** Codes of one part, with meaning and remedy in Markdown, by responsibility. */
export interface CodeGroup {
  title: string;
  /** What a code of the group means for the data, if it is the same for all. */
  effect?: string;
  codes: {
    readonly actionRequired?: CodeTexts;
    readonly retrying?: CodeTexts;
    readonly ok?: CodeTexts;
    readonly none?: CodeTexts;
  };
}

type CodeTexts = Readonly<Record<string, string>>;

const WHO = { actionRequired: 'action required', retrying: 'retrying', ok: 'ok', none: null } as const;

/** One code of a group. */
export interface DescribedCode {
  code: string;
  whoActs: WhoActs;
  text: string;
}

/** Returns the codes of a group, first those that require action. */
export function codesIn({ codes }: CodeGroup): DescribedCode[] {
  return (Object.keys(WHO) as (keyof typeof WHO)[]).flatMap((key) =>
    Object.entries(codes[key] ?? {}).map(([code, text]) => ({ code, whoActs: WHO[key], text })),
  );
}
