/*
 * Every model of the catalogue against figures that were computed apart from it.
 *
 * The table comes from a study of the published configurations (60 models, November 2026) that
 * wrote its own program in another language; how its parameter counts, which are ours, agree with
 * the figures that the makers publish is the matter of test_published.c. bf16 cache, fp32 recurrent
 * state, logical bytes. One pair of figures is corrected here: the study lets a decode step of
 * MiniMax-M3 read all keys of its block-sparse layers, though it counts FLOPs for 17 blocks of 128;
 * we read what is computed on, and the whole index: 3 x 2,048 T + 57 x (2,176 x 2,048 + 256 T)
 * bytes.
 */
#include "base/embedded.h"
#include "model/opcount.h"
#include "model/params.h"
#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTHS = 2 };
static const int64_t lengths_tokens[LENGTHS] = {32768, 131072};

typedef struct figures {
    const char *id;
    int64_t first_token_bytes; /* cached rows of the first token */
    int64_t growth_bytes;      /* a token, in the long run */
    int64_t fixed_bytes;
    int64_t cached_bytes[LENGTHS];
    int64_t read_bytes[LENGTHS];
    int64_t core_flops[LENGTHS];
    int64_t params;
    int64_t active_params;
} figures;

/* clang-format off */
static const figures catalogue[] = {
    {"llama-2-7b", 524288, 524288, 0, {17179869184, 68719476736}, {17179869184, 68719476736},
      {17179869184, 68719476736}, 6738149376, 6607077376},
    {"llama-2-13b", 819200, 819200, 0, {26843545600, 107374182400}, {26843545600, 107374182400},
      {26843545600, 107374182400}, 13015449600, 12851609600},
    {"llama-2-70b", 327680, 327680, 0, {10737418240, 42949672960}, {10737418240, 42949672960},
      {85899345920, 343597383680}, 68975329280, 68713185280},
    {"mistral-7b-v0.1", 131072, 0, 0, {536870912, 536870912}, {536870912, 536870912}, {2147483648,
      2147483648}, 7241465856, 7110393856},
    {"gemma-1-7b", 458752, 458752, 0, {15032385536, 60129542144}, {15032385536, 60129542144},
      {15032385536, 60129542144}, 8537505792, 8537505792},
    {"llama-3.1-8b", 131072, 131072, 0, {4294967296, 17179869184}, {4294967296, 17179869184},
      {17179869184, 68719476736}, 8029995008, 7504658432},
    {"llama-3.1-70b", 327680, 327680, 0, {10737418240, 42949672960}, {10737418240, 42949672960},
      {85899345920, 343597383680}, 70552387584, 69501714432},
    {"llama-3.1-405b", 516096, 516096, 0, {16911433728, 67645734912}, {16911433728, 67645734912},
      {270582939648, 1082331758592}, 405849243648, 403747897344},
    {"llama-3.3-70b", 327680, 327680, 0, {10737418240, 42949672960}, {10737418240, 42949672960},
      {85899345920, 343597383680}, 70552387584, 69501714432},
    {"qwen2-72b", 327680, 327680, 0, {10737418240, 42949672960}, {10737418240, 42949672960},
      {85899345920, 343597383680}, 72704065536, 71458357248},
    {"qwen2.5-72b", 327680, 327680, 0, {10737418240, 42949672960}, {10737418240, 42949672960},
      {85899345920, 343597383680}, 72704065536, 71458357248},
    {"phi-4-14b", 204800, 204800, 0, {6710886400, 26843545600}, {6710886400, 26843545600},
      {26843545600, 107374182400}, 14659092480, 14145290240},
    {"qwen3-0.6b", 114688, 114688, 0, {3758096384, 15032385536}, {3758096384, 15032385536},
      {7516192768, 30064771072}, 595984384, 595984384},
    {"qwen3-4b", 147456, 147456, 0, {4831838208, 19327352832}, {4831838208, 19327352832},
      {19327352832, 77309411328}, 4022272000, 4022272000},
    {"qwen3-8b", 147456, 147456, 0, {4831838208, 19327352832}, {4831838208, 19327352832},
      {19327352832, 77309411328}, 8190427136, 7568097280},
    {"qwen3-32b", 262144, 262144, 0, {8589934592, 34359738368}, {8589934592, 34359738368},
      {68719476736, 274877906944}, 32761446400, 31983534080},
    {"bonsai-8b", 147456, 147456, 0, {4831838208, 19327352832}, {4831838208, 19327352832},
      {19327352832, 77309411328}, 8190427136, 7568097280},
    {"gemma-2-27b", 376832, 188416, 0, {6945767424, 25467813888}, {6945767424, 25467813888},
      {13891534848, 50935627776}, 27226275840, 27226275840},
    {"gemma-3-27b", 507904, 81920, 0, {3120562176, 11173625856}, {3120562176, 11173625856},
      {6241124352, 22347251712}, 27007647744, 27007647744},
    {"gemma-4-e2b", 18432, 6144, 0, {207618048, 811597824}, {484442112, 1893728256}, {3875536896,
      15149826048}, 4614520832, 2265710592},
    {"gemma-4-e4b", 57344, 16384, 0, {557842432, 2168455168}, {976224256, 3794796544}, {3904897024,
      15179186176}, 7434928128, 4616355840},
    {"gemma-4-31b", 901120, 81920, 0, {3523215360, 11576279040}, {3523215360, 11576279040},
      {23152558080, 87577067520}, 30696013824, 30696013824},
    {"gemma-4-26b-a4b", 225280, 20480, 0, {880803840, 2894069760}, {880803840, 2894069760},
      {5788139520, 21894266880}, 25232441344, 3821830144},
    {"gpt-oss-20b", 49152, 24576, 0, {808452096, 3224371200}, {808452096, 3224371200}, {6467616768,
      25794969600}, 20907786240, 3607142400},
    {"gpt-oss-120b", 73728, 36864, 0, {1212678144, 4836556800}, {1212678144, 4836556800},
      {9701425152, 38692454400}, 116788838400, 5131100160},
    {"qwen3-30b-a3b", 98304, 98304, 0, {3221225472, 12884901888}, {3221225472, 12884901888},
      {25769803776, 103079215104}, 30531911680, 3041656832},
    {"qwen3-235b-a22b", 192512, 192512, 0, {6308233216, 25232932864}, {6308233216, 25232932864},
      {100931731456, 403726925824}, 235092836352, 21567635456},
    {"qwen3-next-80b-a3b", 24576, 24576, 77266944, {805306368, 3221225472}, {959840256,
      3375759360}, {6574571520, 25901924352}, 79674081280, 3563454464},
    {"qwen3.5-4b", 32768, 32768, 51511296, {1073741824, 4294967296}, {1176764416, 4397989888},
      {4383047680, 17267949568}, 4205576192, 4205576192},
    {"qwen3.5-9b", 32768, 32768, 51511296, {1073741824, 4294967296}, {1176764416, 4397989888},
      {4383047680, 17267949568}, 8953528320, 7936409600},
    {"qwen3.5-27b", 65536, 65536, 153944064, {2147483648, 8589934592}, {2455371776, 8897822720},
      {13149143040, 51803848704}, 26895319040, 25623920640},
    {"qwen3.5-35b-a3b", 20480, 20480, 64389120, {671088640, 2684354560}, {799866880, 2813132800},
      {5478809600, 21584936960}, 34660352000, 2946170880},
    {"qwen3.5-122b-a10b", 24576, 24576, 153649152, {805306368, 3221225472}, {1112604672,
      3528523776}, {13149143040, 51803848704}, 122111066112, 9007988736},
    {"qwen3.5-397b-a17b", 30720, 30720, 192061440, {1006632960, 4026531840}, {1390755840,
      4410654720}, {16436428800, 64754810880}, 396345589760, 16331161600},
    {"llama-4-scout", 196608, 49152, 0, {2818572288, 7650410496}, {2818572288, 7650410496},
      {14092861440, 38252052480}, 107769364480, 16137912320},
    {"llama-4-maverick", 196608, 49152, 0, {2818572288, 7650410496}, {2818572288, 7650410496},
      {14092861440, 38252052480}, 400711352320, 16149708800},
    {"deepseek-v2", 69120, 69120, 0, {2264924160, 9059696640}, {2264924160, 9059696640},
      {547608330240, 2190433320960}, 235740692480, 20850769920},
    {"deepseek-v3", 70272, 70272, 0, {2302672896, 9210691584}, {2302672896, 9210691584},
      {556735135744, 2226940542976}, 671025397760, 36624596992},
    {"deepseek-v3.2", 85888, 85888, 0, {2814377984, 11257511936}, {655622144, 2190737408},
      {67545071616, 165792448512}, 671876907008, 37476106240},
    {"deepseek-v4-pro", 62464, 9848, 18710528, {330694656, 1298792448}, {110493696, 323616768},
      {16206790656, 34527510528}, 1572993826816, 48849027072},
    {"deepseek-v4-flash", 44032, 6880, 12206080, {231079936, 907411456}, {65929216, 213778432},
      {5620367360, 16089350144}, 284330295296, 13268156416},
    {"kimi-k2", 70272, 70272, 0, {2302672896, 9210691584}, {2302672896, 9210691584}, {278367567872,
      1113470271488}, 1026407202816, 31686066176},
    {"kimi-k2.5", 70272, 70272, 0, {2302672896, 9210691584}, {2302672896, 9210691584},
      {278367567872, 1113470271488}, 1026407202816, 31686066176},
    {"kimi-linear-48b-a3b", 8064, 8064, 43417600, {264241152, 1056964608}, {351076352, 1143799808},
      {16045309952, 63961038848}, 49122459648, 3106750464},
    {"kimi-k3", 27648, 27648, 449372160, {905969664, 3623878656}, {1804713984, 4522622976},
      {165042192384, 657889689600}, 2779479130112, 104184266752},
    {"kimi-k3.1-pro", 33792, 33792, 449372160, {1107296256, 4429185024}, {1156694016, 1760673792},
      {17469800448, 36797153280}, 2779657650176, 104362786816},
    {"glm-4.5", 376832, 376832, 0, {12348030976, 49392123904}, {12348030976, 49392123904},
      {148176371712, 592705486848}, 352795525120, 32854016000},
    {"glm-5", 109824, 109824, 0, {3598712832, 14394851328}, {838336512, 2801270784}, {43184553984,
      105998450688}, 743910014976, 40831942656},
    {"glm-5.2", 95232, 95232, 0, {3120562176, 12482248704}, {360185856, 888668160}, {27883732992,
      44795166720}, 743375831040, 40297758720},
    {"minimax-m1", 40960, 40960, 293601280, {1342177280, 5368709120}, {1929379840, 5955911680},
      {11104419840, 43316674560}, 456088092672, 47172550656},
    {"minimax-m2", 253952, 253952, 0, {8321499136, 33285996544}, {8321499136, 33285996544},
      {49928994816, 199715979264}, 228688920576, 10415112192},
    {"minimax-m3", 137472, 137472, 0, {4504682496, 18018729984}, {933494784, 2971926528},
      {9198108672, 24599592960}, 426173792256, 24732499968},
    {"nemotron-3-nano-30b-a3b", 6144, 6144, 49082368, {201326592, 805306368}, {299491328,
      903471104}, {3293577216, 12957253632}, 31577554944, 3227369472},
    {"nemotron-h-56b", 40960, 40960, 912605184, {1342177280, 5368709120}, {3167387648, 7193919488},
      {12096372736, 44308627456}, 56321343488, 55247601664},
    {"mamba-2-2.7b", 0, 0, 169836544, {0, 0}, {339673088, 339673088}, {251658240, 251658240},
      2701746176, 2701746176},
    {"jamba-v0.1", 16384, 16384, 16056320, {536870912, 2147483648}, {568983552, 2179596288},
      {2169503744, 8611954688}, 51569360896, 11840913408},
    {"rwkv-7-0.4b", 0, 0, 6389760, {0, 0}, {12779520, 12779520}, {14155776, 14155776}, 450363392,
      383254528},
    {"rwkv-7-1.5b", 0, 0, 12779520, {0, 0}, {25559040, 25559040}, {28311552, 28311552}, 1504706560,
      1370488832},
    {"rwkv-7-2.9b", 0, 0, 21299200, {0, 0}, {42598400, 42598400}, {47185920, 47185920}, 2899312640,
      2731540480},
    {"rwkv-7-7.2b", 0, 0, 34078720, {0, 0}, {68157440, 68157440}, {75497472, 75497472}, 7054819328,
      6786383872},
};
/* clang-format on */

enum { MODELS = sizeof catalogue / sizeof catalogue[0] };

static sli_arena arena;
static sli_diag diag;
static const sli_architecture *models[MODELS];

static const sli_cache_format *bf16(void) {
    return sli_cache_format_find("bf16");
}

static const sli_architecture *read_model(const char *id) {
    const sli_architecture *model = NULL;
    sli_catalogue_site nowhere = {.key = NULL};
    if (sli_architecture_read(&arena, id, nowhere, &diag, &model) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail_msg("cannot read %s", id);
    }
    return model;
}

static int read_all(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        models[i] = read_model(catalogue[i].id);
    }
    return 0;
}

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* Names the model in the message. */
static void equals(const figures *model, const char *what, double found, int64_t expected) {
    if (found != (double)expected) {
        fail_msg("%s: %s is %.0f, not %lld", model->id, what, found, (long long)expected);
    }
}

static void the_first_token_leaves_its_bytes(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        sli_state_bytes first = sli_state_kept(models[i], bf16(), 1);
        equals(&catalogue[i], "first token", (double)first.cached, catalogue[i].first_token_bytes);
    }
}

static void growth_is_what_unbounded_rows_take(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        double growth_bytes = sli_state_growth(models[i], bf16());
        equals(&catalogue[i], "growth", growth_bytes, catalogue[i].growth_bytes);
    }
}

static void caches_have_their_bytes(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        for (int t = 0; t < LENGTHS; t++) {
            sli_state_bytes kept = sli_state_kept(models[i], bf16(), lengths_tokens[t]);
            equals(&catalogue[i], "cache", (double)kept.cached, catalogue[i].cached_bytes[t]);
            equals(&catalogue[i], "fixed state", (double)kept.fixed, catalogue[i].fixed_bytes);
        }
    }
}

static void decode_reads_its_bytes(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        for (int t = 0; t < LENGTHS; t++) {
            int64_t read_bytes = sli_state_read(models[i], bf16(), lengths_tokens[t]);
            equals(&catalogue[i], "read", (double)read_bytes, catalogue[i].read_bytes[t]);
        }
    }
}

static void decode_computes_its_flops(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        for (int t = 0; t < LENGTHS; t++) {
            double flops = sli_opcount_decode_core(models[i], lengths_tokens[t]);
            equals(&catalogue[i], "core FLOPs", flops, catalogue[i].core_flops[t]);
        }
    }
}

static void parameters_are_counted(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        equals(&catalogue[i], "parameters", (double)sli_params_total(models[i]),
               catalogue[i].params);
        equals(&catalogue[i], "active parameters", (double)sli_params_matmul(models[i]),
               catalogue[i].active_params);
    }
}

/* A step of very many tokens touches every expert, a step of one no more than the active ones. */
static void touched_parameters_lie_between_active_and_all(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        int64_t embeddings = sli_params_total(models[i]);
        double all = sli_params_touched(models[i], 1000000);
        double one = sli_params_touched(models[i], 1);
        double active = (double)catalogue[i].active_params;
        assert_true(one >= active * (1.0 - 1e-12) && one <= active * (1.0 + 1e-12));
        assert_true(sli_params_touched(models[i], 8) >= one * (1.0 - 1e-12));
        assert_true(all <= (double)embeddings * (1.0 + 1e-12));
    }
}

/* ---- What the study says of some models ---- */

typedef struct published {
    const char *id;
    double billions; /* of parameters, as advertised; active ones, 0 = not published */
    double active_billions;
    int64_t half_fixed_bytes; /* with a recurrent matrix of 2 bytes an element; 0 = not said */
    int64_t mebi_bytes;       /* cached at 2^20 tokens; 0 = not said */
} published;

/* clang-format off */
static const published published_figures[MODELS] = {
    {"llama-2-7b", 6.74, 0, 0, 0},
    {"llama-2-13b", 13, 0, 0, 0},
    {"llama-2-70b", 69, 0, 0, 0},
    {"mistral-7b-v0.1", 7.24, 0, 0, 0},
    {"gemma-1-7b", 8.54, 0, 0, 0},
    {"llama-3.1-8b", 8.03, 0, 0, 0},
    {"llama-3.1-70b", 70.6, 0, 0, 0},
    {"llama-3.1-405b", 405, 0, 0, 0},
    {"llama-3.3-70b", 70.6, 0, 0, 0},
    {"qwen2-72b", 72.7, 0, 0, 0},
    {"qwen2.5-72b", 72.7, 0, 0, 0},
    {"phi-4-14b", 14.7, 0, 0, 0},
    {"qwen3-0.6b", 0.6, 0, 0, 0},
    {"qwen3-4b", 4, 0, 0, 0},
    {"qwen3-8b", 8.19, 0, 0, 0},
    {"qwen3-32b", 32.8, 0, 0, 0},
    {"bonsai-8b", 8.19, 0, 0, 0},
    {"gemma-2-27b", 27.2, 0, 0, 0},
    {"gemma-3-27b", 27, 0, 0, 0},
    {"gemma-4-e2b", 5.1, 2.3, 0, 0},
    {"gemma-4-e4b", 8, 4.5, 0, 0},
    {"gemma-4-31b", 31, 0, 0, 0},
    {"gemma-4-26b-a4b", 26, 3.8, 0, 0},
    {"gpt-oss-20b", 20.9, 3.6, 0, 0},
    {"gpt-oss-120b", 116.8, 5.1, 0, 0},
    {"qwen3-30b-a3b", 30.5, 3.3, 0, 0},
    {"qwen3-235b-a22b", 235, 22, 0, 0},
    {"qwen3-next-80b-a3b", 80, 3, 39518208, 0},
    {"qwen3.5-4b", 4.7, 0, 26345472, 0},
    {"qwen3.5-9b", 9.653, 0, 26345472, 0},
    {"qwen3.5-27b", 27, 0, 78446592, 0},
    {"qwen3.5-35b-a3b", 35, 3, 32931840, 0},
    {"qwen3.5-122b-a10b", 122, 10, 78151680, 0},
    {"qwen3.5-397b-a17b", 397, 17, 97689600, 0},
    {"llama-4-scout", 109, 17, 0, 52747567104},
    {"llama-4-maverick", 400, 17, 0, 52747567104},
    {"deepseek-v2", 236, 21, 0, 0},
    {"deepseek-v3", 671, 37, 0, 0},
    {"deepseek-v3.2", 671, 37, 0, 0},
    {"deepseek-v4-pro", 1600, 49, 0, 10334371840},
    {"deepseek-v4-flash", 284, 13, 0, 7219838976},
    {"kimi-k2", 1026, 32, 0, 0},
    {"kimi-k2.5", 1026, 32, 0, 0},
    {"kimi-linear-48b-a3b", 48, 3, 22446080, 8455716864},
    {"kimi-k3", 2800, 104, 232316928, 28991029248},
    {"kimi-k3.1-pro", 2800, 0, 232316928, 35433480192},
    {"glm-4.5", 355, 32, 0, 0},
    {"glm-5", 744, 40, 0, 0},
    {"glm-5.2", 743, 39, 0, 99857989632},
    {"minimax-m1", 456, 45.9, 293601280, 42949672960},
    {"minimax-m2", 230, 10, 0, 0},
    {"minimax-m3", 427, 26, 0, 144149839872},
    {"nemotron-3-nano-30b-a3b", 30, 3, 24965120, 0},
    {"nemotron-h-56b", 56, 0, 459620352, 0},
    {"mamba-2-2.7b", 2.7, 0, 85950464, 0},
    {"jamba-v0.1", 52, 12, 8716288, 0},
    {"rwkv-7-0.4b", 0.45, 0, 6389760, 0},
    {"rwkv-7-1.5b", 1.53, 0, 12779520, 0},
    {"rwkv-7-2.9b", 2.95, 0, 21299200, 0},
    {"rwkv-7-7.2b", 7.2, 0, 34078720, 0},
};
/* clang-format on */

/* What they hold that our count does not: test_published.c. */
static void files_have_the_published_parameters(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        const published *row = &published_figures[i];
        assert_string_equal(row->id, catalogue[i].id);
        equals(&catalogue[i], "published total", models[i]->published_params,
               (int64_t)(row->billions * 1e9 + 0.5));
        equals(&catalogue[i], "published active", models[i]->published_active_params,
               (int64_t)(row->active_billions * 1e9 + 0.5));
    }
}

static void long_caches_have_their_bytes(void **state) {
    (void)state;
    int count = 0;
    for (int i = 0; i < MODELS; i++) {
        if (published_figures[i].mebi_bytes > 0) {
            sli_state_bytes kept = sli_state_kept(models[i], bf16(), INT64_C(1) << 20);
            equals(&catalogue[i], "cache", (double)kept.cached, published_figures[i].mebi_bytes);
            count++;
        }
    }
    assert_int_equal(count, 10);
}

/* The model of the file with another type of its recurrent states. */
static const sli_architecture *with_states_of(const char *id, const char *type) {
    static const char mark[] = "type: recurrent";
    char *text = sli_arena_printf(&arena, "%s", sli_embedded_find(sli_model_files, id)->text);
    const char *found = strstr(text, mark);
    while (found != NULL) {
        size_t length = (size_t)(found - text) + strlen(mark);
        text = sli_arena_printf(&arena, "%.*s, state: %s%s", (int)length, text, type,
                                text + length);
        found = strstr(text + length, mark);
    }
    sli_node *root = NULL;
    const sli_architecture *made = NULL;
    assert_int_equal(sli_tree_read_text(&arena, id, text, strlen(text), &diag, &root), SL_OK);
    if (sli_architecture_resolve(&arena, id, root, &diag, &made) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail_msg("cannot make %s", id);
    }
    return made;
}

/* Of MiniMax-M1 and RWKV-7 the study has the bytes of fp32 here too: their type is fp32 by
 * assumption, and it halved only what a configuration or a serving engine names. */
static bool is_left_in_fp32(const char *id) {
    return strcmp(id, "minimax-m1") == 0 || strncmp(id, "rwkv-7", strlen("rwkv-7")) == 0;
}

/* Convolutions and shifts are in bf16 either way. */
static void states_in_half_precision_have_their_bytes(void **state) {
    (void)state;
    int count = 0;
    for (int i = 0; i < MODELS; i++) {
        int64_t expected = published_figures[i].half_fixed_bytes;
        if (expected > 0) {
            const char *type = is_left_in_fp32(catalogue[i].id) ? "fp32" : "bf16";
            const sli_architecture *half = with_states_of(catalogue[i].id, type);
            equals(&catalogue[i], "fixed state", (double)sli_state_kept(half, bf16(), 1).fixed,
                   expected);
            count++;
        }
    }
    assert_int_equal(count, 19);
}

static int64_t cached(const char *id, const char *format, int64_t tokens) {
    return sli_state_kept(read_model(id), sli_cache_format_find(format), tokens).cached;
}

/* The appendix of vLLM's post on DeepSeek V4: 30 CSA and 31 HCA layers at 2^20 tokens, against 61
 * layers with 1,408 bytes a token. */
static void deepseek_v4_keeps_what_vllm_published(void **state) {
    (void)state;
    const int64_t mebi = INT64_C(1) << 20;
    assert_int_equal(cached("deepseek-v4-pro", "bf16", mebi), INT64_C(10334371840));
    assert_int_equal(cached("deepseek-v3.2", "bf16", mebi), INT64_C(90060095488));
    /* 584 and 132 bytes, and 68 with mxfp4 index keys */
    int64_t csa_entries = 128 + mebi / 4;
    int64_t hca_entries = 128 + mebi / 128;
    int64_t main_bytes = 584 * (30 * csa_entries + 31 * hca_entries);
    assert_int_equal(cached("deepseek-v4-pro", "fp8_ds_mla", mebi),
                     main_bytes + 30 * 132 * (mebi / 4));
    assert_int_equal(cached("deepseek-v4-pro", "fp8_ds_mla_mxfp4", mebi),
                     main_bytes + 30 * 68 * (mebi / 4));
    assert_int_equal(cached("deepseek-v3.2", "fp8_ds_mla", mebi), 61 * (656 + 132) * mebi);
}

/* The figures of PrismML's demo: 4,608 MiB in fp16, 1,296 MiB in q4_0. */
static void bonsai_keeps_what_its_demo_shows(void **state) {
    (void)state;
    assert_int_equal(cached("bonsai-8b", "bf16", 32768), INT64_C(4608) << 20);
    assert_int_equal(cached("bonsai-8b", "q4_0", 32768), INT64_C(1296) << 20);
}

/* FlashMLA's documentation counts 62 layers for V3: the multi-token layer keeps a cache too. */
static void multi_token_layers_are_counted_apart(void **state) {
    (void)state;
    const sli_architecture *model = read_model("deepseek-v3");
    assert_int_equal(sli_state_mtp(model, bf16(), 1).cached, 576 * 2);
    assert_int_equal(sli_state_kept(model, bf16(), 1).cached, 61 * 576 * 2);
    assert_true(sli_params_mtp(model) > INT64_C(11000000000));
    assert_int_equal(sli_params_mtp(read_model("llama-3.1-8b")), 0);
}

/* What is not cut by heads is on every rank: the latent of MLA, and 8 heads over 16 ranks twice. */
static void ranks_hold_whole_heads(void **state) {
    (void)state;
    const sli_architecture *latent = read_model("deepseek-v3");
    const sli_architecture *heads = read_model("llama-3.1-70b");
    int64_t whole_bytes = sli_state_kept(heads, bf16(), 1000).cached;
    assert_int_equal(sli_state_rank(latent, bf16(), 1000, 8).cached,
                     sli_state_kept(latent, bf16(), 1000).cached);
    assert_int_equal(8 * sli_state_rank(heads, bf16(), 1000, 8).cached, whole_bytes);
    assert_int_equal(8 * sli_state_rank(heads, bf16(), 1000, 16).cached, whole_bytes);
}

/* Every file of the folder is in the table, or an experiment's. */
static void no_model_goes_unchecked(void **state) {
    (void)state;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        bool is_listed = false;
        for (int i = 0; i < MODELS; i++) {
            is_listed = is_listed || strcmp(file->name, catalogue[i].id) == 0;
        }
        assert_int_equal(read_model(file->name)->role,
                         is_listed ? SLI_ROLE_CATALOGUE : SLI_ROLE_EXPERIMENT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_token_leaves_its_bytes),
        cmocka_unit_test(growth_is_what_unbounded_rows_take),
        cmocka_unit_test(caches_have_their_bytes),
        cmocka_unit_test(decode_reads_its_bytes),
        cmocka_unit_test(decode_computes_its_flops),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(touched_parameters_lie_between_active_and_all),
        cmocka_unit_test(files_have_the_published_parameters),
        cmocka_unit_test(long_caches_have_their_bytes),
        cmocka_unit_test(states_in_half_precision_have_their_bytes),
        cmocka_unit_test(deepseek_v4_keeps_what_vllm_published),
        cmocka_unit_test(bonsai_keeps_what_its_demo_shows),
        cmocka_unit_test(multi_token_layers_are_counted_apart),
        cmocka_unit_test(ranks_hold_whole_heads),
        cmocka_unit_test(no_model_goes_unchecked),
    };
    return cmocka_run_group_tests(tests, read_all, release);
}
