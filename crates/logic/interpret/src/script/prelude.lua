-- Makes the globals that scripts see: those of Lua 5.1 as the reference offers them, and no others.
-- Runs once in every machine, before its globals are sealed. Given: the functions of `kube.rs` and `machine.rs`.
local native = ...
local error, ipairs, pairs, select, tostring, type = error, ipairs, pairs, select, tostring, type
local concat, gmatch, gsub = table.concat, string.gmatch, string.gsub
local date, fmod, time = os.date, math.fmod, os.time
local globals = _G

-- Removes from a library all that is not named.
local function keep(library, names)
    local kept = {}
    for name in gmatch(names, "%S+") do
        kept[name] = true
    end
    for name in pairs(library) do
        if not kept[name] then
            library[name] = nil
        end
    end
end

-- A function that is known and must not be used.
local function refuse(name)
    return function()
        error(name .. " is not available to interpretation scripts", 2)
    end
end

-- A function of ours that returns an answer or a problem; the problem is raised where the script called it.
local function checked(call)
    return function(...)
        local answer, problem = call(...)
        if problem then
            error(problem, 2)
        end
        return answer
    end
end

keep(table, "concat getn insert maxn remove sort")
keep(
    math,
    "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad"
        .. " random randomseed sin sinh sqrt tan tanh"
)
math.mod = fmod
keep(string, "byte char find format gmatch len lower match reverse sub upper")
string.gfind = gmatch
for _, name in ipairs({ "dump", "gsub", "rep" }) do
    string[name] = refuse("string." .. name)
end

keep(
    globals,
    "assert error ipairs math next os pairs pcall select string table tonumber tostring type unpack xpcall"
)
for name in
    gmatch(
        "collectgarbage dofile getfenv getmetatable load loadfile loadstring module newproxy rawequal rawget rawset"
            .. " setfenv setmetatable",
        "%S+"
    )
do
    globals[name] = refuse(name)
end
_VERSION = "Lua 5.1"

-- Times are those of the caller, and dates are in UTC wherever the caller runs.
local function now(name)
    return native.now() or error(name .. ": there is no clock here", 3)
end

os = {
    time = function(...)
        if select("#", ...) == 0 then
            return now("os.time")
        end
        local fields = ...
        if type(fields) ~= "table" then
            error("os.time expects a table, not " .. type(fields), 2)
        end
        for _, name in ipairs({ "year", "month", "day" }) do
            if type(fields[name]) ~= "number" then
                error("os.time: the field " .. name .. " is missing", 2)
            end
        end
        return time(fields)
    end,
    date = function(format, at)
        format = format == nil and "%c" or format
        if type(format) ~= "string" then
            error("os.date expects a format, not " .. type(format), 2)
        end
        if at ~= nil and type(at) ~= "number" then
            error("os.date expects a time, not " .. type(at), 2)
        end
        format = gsub(format, "^!", "")
        format = gsub(format, "%%(.)", { F = "%Y-%m-%d" })
        return date("!" .. format, at or now("os.date"))
    end,
}

function print(...)
    local words = {}
    for position = 1, select("#", ...) do
        words[position] = tostring((select(position, ...)))
    end
    native.print(concat(words, "\t"))
end

local kube = {
    resourceAdd = checked(native.resourceAdd),
    accuratePodRequirements = checked(native.accuratePodRequirements),
    getPodDependencies = checked(native.getPodDependencies),
    getResourceQuantity = checked(native.getResourceQuantity),
}

function require(name)
    if name ~= "kube" then
        error("there is no module " .. tostring(name) .. "; the only one is kube", 2)
    end
    return kube
end

return kube
