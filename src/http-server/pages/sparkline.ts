import { type Html, html } from '../../model/html.ts';

const STEP = 6;
const HEIGHT = 24;

/** Counts as a row of bars, oldest first; the same in words for who can't see it. */
export function sparkline(counts: readonly number[], told: string): Html {
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, at) => {
    const height = count === 0 ? 1 : Math.max(2, Math.round((count / most) * HEIGHT));
    return html`<rect x="${at * STEP}" y="${HEIGHT - height}" width="${STEP - 2}" height="${height}"/>`;
  });
  const width = counts.length * STEP - 2;
  return html`<svg class="sparkline" role="img" aria-label="${told}" viewBox="0 0 ${width} ${HEIGHT}" width="${width}" height="${HEIGHT}"><title>${told}</title>${bars}</svg>`;
}
