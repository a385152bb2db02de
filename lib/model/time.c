/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339 in and out, without the C library's locale and time zone. */
#include "slu/model/time.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/* Year, month and day of a day counted from 1970-01-01, which may lie before it. Years begin in
 * March here, so that the leap day is the last of its year, and come in eras of 400, which all have
 * as many days. */
static void
civil_day(int64_t day, int *ret_year, int *ret_month, int *ret_day)
{
    enum {
        ERA_DAYS = 146097,
        CENTURY_DAYS = 36524,
        FOUR_YEARS_DAYS = 1461,
        YEAR_DAYS = 365,
        FIVE_MONTHS_DAYS = 153,    /* March to July, August to December. */
        DAYS_BEFORE_1970 = 719468, /* From 0000-03-01. */
    };

    const int64_t count = day + DAYS_BEFORE_1970;
    const int64_t era = (count >= 0 ? count : count - (ERA_DAYS - 1)) / ERA_DAYS;
    const int in_era = (int) (count - era * ERA_DAYS);
    const int leap_days =
        in_era / (FOUR_YEARS_DAYS - 1) - in_era / CENTURY_DAYS + in_era / (ERA_DAYS - 1);
    const int year = (in_era - leap_days) / YEAR_DAYS;
    const int in_year = in_era - (YEAR_DAYS * year + year / 4 - year / 100);
    const int month = (5 * in_year + 2) / FIVE_MONTHS_DAYS;
    *ret_day = in_year - (FIVE_MONTHS_DAYS * month + 2) / 5 + 1;
    *ret_month = month < 10 ? month + 3 : month - 9;
    *ret_year = (int) (year + era * 400) + (*ret_month <= 2);
}

/* Writes exactly `digits` digits and the character after them; returns the place behind. */
static char *
put_number(char *at, int number, int digits, char after)
{
    for (int i = digits - 1; i >= 0; i--, number /= 10)
        at[i] = (char) ('0' + number % 10);
    at[digits] = after;
    return at + digits + 1;
}

void
slu_time_write(int64_t unix_ms, char ret_text[SLU_TIME_TEXT_SIZE])
{
    enum {
        DAY_MS = 24 * 3600 * 1000
    };

    int64_t days = unix_ms / DAY_MS;
    int in_day = (int) (unix_ms % DAY_MS);
    if (in_day < 0) {
        in_day += DAY_MS;
        days--;
    }

    int year, month, day;
    civil_day(days, &year, &month, &day);
    assert(year >= 0 && year <= 9999);
    char *at = put_number(ret_text, year, 4, '-');
    at = put_number(at, month, 2, '-');
    at = put_number(at, day, 2, 'T');
    at = put_number(at, in_day / 3600000, 2, ':');
    at = put_number(at, in_day / 60000 % 60, 2, ':');
    at = put_number(at, in_day / 1000 % 60, 2, '.');
    at = put_number(at, in_day % 1000, 3, 'Z');
    *at = '\0';
}

/* Takes exactly `digits` digits. */
static bool
take_number(const char **at, int digits, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return true;
}

static bool
take_char(const char **at, const char *allowed)
{
    if (**at == '\0' || !strchr(allowed, **at))
        return false;
    (*at)++;
    return true;
}

/* ".5", ".123456789": the first three digits count. */
static bool
take_fraction(const char **at, int *ret_ms)
{
    *ret_ms = 0;
    if (!take_char(at, "."))
        return true;

    int weight = 100;
    const char *first = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        *ret_ms += weight * (**at - '0');
        weight /= 10;
    }
    return *at > first;
}

static bool
take_offset(const char **at, int *ret_seconds)
{
    *ret_seconds = 0;
    if (take_char(at, "Zz"))
        return true;

    const int sign = **at == '-' ? -1 : 1;
    int hours, minutes;
    if (!take_char(at, "+-") || !take_number(at, 2, &hours) || !take_char(at, ":") ||
        !take_number(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool
take_date(const char **at, struct tm *ret_parts)
{
    int year, month, day;
    if (!take_number(at, 4, &year) || !take_char(at, "-") || !take_number(at, 2, &month) ||
        !take_char(at, "-") || !take_number(at, 2, &day))
        return false;

    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1] + (leap && month == 2))
        return false;
    ret_parts->tm_year = year - 1900;
    ret_parts->tm_mon = month - 1;
    ret_parts->tm_mday = day;
    return true;
}

/* A leap second (60) is taken as the first moment of the next minute. */
static bool
take_clock(const char **at, struct tm *ret_parts)
{
    return take_number(at, 2, &ret_parts->tm_hour) && take_char(at, ":") &&
           take_number(at, 2, &ret_parts->tm_min) && take_char(at, ":") &&
           take_number(at, 2, &ret_parts->tm_sec) && ret_parts->tm_hour <= 23 &&
           ret_parts->tm_min <= 59 && ret_parts->tm_sec <= 60;
}

bool
slu_time_read(const char *text, int64_t *ret_unix_ms)
{
    struct tm parts = {0};
    int ms, offset_seconds;

    if (!take_date(&text, &parts) || !take_char(&text, "Tt ") || !take_clock(&text, &parts) ||
        !take_fraction(&text, &ms) || !take_offset(&text, &offset_seconds) || *text)
        return false;
    *ret_unix_ms = ((int64_t) timegm(&parts) - offset_seconds) * 1000 + ms;
    return true;
}
