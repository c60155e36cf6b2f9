/** A hundred cases in every test run; `npm run fuzz` asks for more, and a seed that failed can be asked for again. */
export const fuzzCases = Number(process.env.FUZZ_CASES ?? 100);
export const fuzzSeed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
export const fuzzTimeoutMs = 120_000 + fuzzCases * 500;
