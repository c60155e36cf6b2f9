/** A hundred cases in every test run; `npm run fuzz` runs more, and can repeat a seed that failed. */
export const fuzzCases = Number(process.env.FUZZ_CASES ?? 100);
export const fuzzSeed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
export const fuzzTimeoutMs = 120_000 + fuzzCases * 500;
/** Fuzzes that share a hundred cases between them take half each. */
export const fuzzCasesShared = process.env.FUZZ_CASES === undefined ? fuzzCases / 2 : fuzzCases;
/**
 * How long another tenant may wait. `npm run fuzz` has the machine to itself; an ordinary run shares it with other
 * tests.
 */
export const neighbourMsMax = process.env.FUZZ_CASES === undefined ? 5000 : 1500;
